"""What the next fire takes, by criteria and strategy (section 4.2). Nothing is changed here."""

from pondage.kernel.reaction.facts import Facts, is_dirty
from pondage.kernel.reaction.shape import ReactorShape


def choose_latest(shape: ReactorShape, facts: Facts) -> dict[str, int] | None:
    """Give what an automatic Latest fire consumes: the newest of every dirty source. None: the criteria do not hold."""
    dirty = {name: source.seen for name, source in facts.sources.items() if source.seen > source.consumed}
    if not dirty:
        return None
    if shape.needs_all:
        for name, declared in shape.sources.items():
            if name not in dirty and not declared.optional:
                return None
    return dirty


def choose_sequential(shape: ReactorShape, facts: Facts, limit: int) -> list[dict[str, int]]:
    """Give what the next fires consume, at most `limit`: the criteria, applied repeatedly to the queues as they are.

    WhenAny takes the head that arrived first, WhenAll one head of every required source and of optional ones that
    have one.
    """
    if len(facts.sources) == 1:
        return _one_source(facts, limit)
    places = {name: source.pinned for name, source in facts.sources.items()}
    fires: list[dict[str, int]] = []
    while len(fires) < limit:
        taken = _heads_of_all(shape, facts, places) if shape.needs_all else _first_head(facts, places)
        if taken is None:
            break
        for name in taken:
            places[name] += 1
        fires.append(taken)
    return fires


def choose_forced(shape: ReactorShape, facts: Facts) -> dict[str, int]:
    """Give what a ForceFire consumes: what the criteria would take, else the heads that exist, else nothing."""
    if not shape.is_sequential:
        return {name: source.seen for name, source in facts.sources.items() if is_dirty(shape, source)}
    fires = choose_sequential(shape, facts, 1)
    if fires:
        return fires[0]
    return {name: source.queue[0].seq for name, source in facts.sources.items() if source.queue}


def _one_source(facts: Facts, limit: int) -> list[dict[str, int]]:
    # Both criteria come to the same: the next boundaries in order.
    for name, source in facts.sources.items():
        pinned = source.pinned
        return [{name: entry.seq} for entry in source.queue[pinned : pinned + limit]]
    return []


def _first_head(facts: Facts, places: dict[str, int]) -> dict[str, int] | None:
    first, name_of_first = None, ""
    for name, source in facts.sources.items():
        place = places[name]
        if place < len(source.queue):
            entry = source.queue[place]
            if first is None or entry.arrival < first.arrival:
                first, name_of_first = entry, name
    return None if first is None else {name_of_first: first.seq}


def _heads_of_all(shape: ReactorShape, facts: Facts, places: dict[str, int]) -> dict[str, int] | None:
    taken = {}
    for name, source in facts.sources.items():
        place = places[name]
        if place < len(source.queue):
            taken[name] = source.queue[place].seq
        elif not shape.sources[name].optional:
            return None
    return taken or None
