"""Another declaration under the same name: the facts are kept by source name (section 7)."""

import msgspec

from pondage.kernel.reaction.facts import Facts, Fire, SourceFacts, copy_facts
from pondage.kernel.reaction.shape import ReactorShape


class Redeclared(msgspec.Struct, frozen=True, kw_only=True):
    """The facts under another declaration; `dropped` is how many boundaries each removed source had waiting."""

    facts: Facts
    dropped: dict[str, int]


def changed_kinds(old: ReactorShape, new: ReactorShape) -> list[str]:
    """Name the sources that would be of another kind: such a declaration is refused (KIND_CHANGED)."""
    return [name for name, shape in new.sources.items() if name in old.sources and old.sources[name].kind != shape.kind]


def redeclare(old: ReactorShape, facts: Facts, new: ReactorShape) -> Redeclared:
    """Give the facts with which the new declaration begins, and what removed sources had pending: that is dropped.

    The open fire keeps its id and inputs. A plan is kept only when its sources and the strategy are; otherwise its
    boundaries are pending again, under new ids.
    """
    kept = copy_facts(facts)
    removed = [name for name in old.sources if name not in new.sources]
    if kept.plan and (removed or old.strategy is not new.strategy):
        _forget_plan(kept)
    dropped = {name: number for name in removed if (number := _waiting(old, kept, name))}
    kept.sources = {name: kept.sources.get(name, SourceFacts()) for name in new.sources}
    if old.strategy is not new.strategy:
        for name, source in kept.sources.items():
            _change_strategy(source, kept.fire, name, to_sequential=new.is_sequential)
    kept.graphs = list(new.graphs)
    kept.failed = [name for name in kept.failed if not name or name in new.sources]
    return Redeclared(facts=kept, dropped=dropped)


def _waiting(shape: ReactorShape, facts: Facts, name: str) -> int:
    """Count what no fire has, nor the open one, also items of a batch that was not emitted."""
    source, fire = facts.sources[name], facts.fire
    if shape.is_sequential:
        return len(source.buffer) + len(source.queue) - source.pinned
    taken = source.consumed if fire is None else max(source.consumed, fire.consumes.get(name, 0))
    return len(source.buffer) + int(source.seen > taken)


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
