"""A reactor that begins again with nothing that waits, and repeats nothing that it has done."""

from pondage.kernel.reaction.facts import Facts, SourceFacts, new_facts
from pondage.kernel.reaction.shape import NEVER, ReactorShape


def emptied(shape: ReactorShape, facts: Facts, *, fire_no: int, latest: int) -> Facts:
    """Give facts without queue, cache, fires and letters; counts, offsets and freshness stay.

    `latest` is the latest freshness that can be meant: one beyond it is forgotten, because it never falls.
    """
    empty = new_facts(shape)
    empty.arrivals, empty.fire_no, empty.outcomes = facts.arrivals, fire_no, facts.outcomes
    empty.fires, empty.ok, empty.bad = facts.fires, facts.ok, facts.bad
    if facts.com_f <= latest:
        empty.com_f = empty.pub_f = facts.com_f
    for name in shape.sources:
        if (before := facts.sources.get(name)) is not None:
            empty.sources[name] = _emptied(before, latest)
    return empty


def _emptied(source: SourceFacts, latest: int) -> SourceFacts:
    return SourceFacts(
        seen=source.seen,
        consumed=source.seen,
        offset=source.offset,
        lanes=dict(source.lanes),
        f=source.f if source.f <= latest else NEVER,
        taken=source.taken if source.taken <= latest else NEVER,
        dropped=source.dropped,
    )
