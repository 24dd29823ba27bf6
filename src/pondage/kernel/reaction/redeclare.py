"""Another declaration under the same name: the facts are kept by source name (section 7)."""

from pondage.kernel.reaction.apply import apply
from pondage.kernel.reaction.facts import Facts, Fire, SourceFacts, copy_facts
from pondage.kernel.reaction.records import AnyRecord, Full, Overflow
from pondage.kernel.reaction.shape import ReactorShape


def changed_kinds(old: ReactorShape, new: ReactorShape) -> list[str]:
    """Name the sources that would be of another kind: such a declaration is refused (KIND_CHANGED)."""
    return [name for name, shape in new.sources.items() if name in old.sources and old.sources[name].kind != shape.kind]


def redeclare(old: ReactorShape, facts: Facts, new: ReactorShape) -> list[AnyRecord]:
    """Give the records of the change: what removed sources had pending is dropped, then comes the full state.

    The open fire keeps its id and inputs. A plan is kept only when its sources and the strategy are; otherwise its
    boundaries are pending again, under new ids.
    """
    kept = copy_facts(facts)
    records: list[AnyRecord] = []
    removed = [name for name in old.sources if name not in new.sources]
    if kept.plan and (removed or old.strategy is not new.strategy):
        _forget_plan(kept)
    for name in removed:
        source = kept.sources[name]
        while len(source.queue) > source.pinned:
            records.append(Overflow(name))
            apply(old, kept, records[-1])
    kept.sources = {name: kept.sources.get(name, SourceFacts()) for name in new.sources}
    if old.strategy is not new.strategy:
        for name, source in kept.sources.items():
            _change_strategy(source, kept.fire, name, to_sequential=new.is_sequential)
    kept.graphs = list(new.graphs)
    kept.standing = {}
    kept.failed = [name for name in kept.failed if not name or name in new.sources]
    return [*records, Full(kept)]


def _forget_plan(facts: Facts) -> None:
    for fire in facts.plan:
        for name in fire.consumes:
            facts.sources[name].pinned -= 1
    facts.plan = []


def _change_strategy(source: SourceFacts, fire: Fire | None, name: str, *, to_sequential: bool) -> None:
    if to_sequential:
        if source.cur is not None and source.seen > source.consumed:
            source.queue, source.cur = [source.cur], source.good
            source.pinned = 1 if fire is not None and name in fire.consumes else 0
            return
    elif source.queue:
        source.cur, source.queue = source.queue[-1], []
    source.pinned = 0
