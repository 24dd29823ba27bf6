"""`get_state`: what a person may know about a reactor."""

from pondage.kernel.reaction.facts import ONE_MESSAGE, SourceFacts, is_dirty
from pondage.kernel.reaction.shape import NEVER
from pondage.kernel.reaction.state import SourceLife, State


def look(state: State) -> dict[str, object]:
    """Give the state as GetState answers it. A freshness of None: nothing was published."""
    facts, fire, last = state.facts, state.facts.fire, state.facts.last
    has_freshness = state.shape.publish is not None and facts.pub_f != NEVER
    return {
        "state": state.condition.value,
        "unhealthy": list(state.unhealthy),
        "hold": facts.hold,
        "strategy": state.shape.strategy.value,
        "criteria": state.shape.criteria.value,
        "sources": {name: _source(state, source) for name, source in state.sources.items()},
        "running": None if fire is None else {"fire": fire.id, "attempt": fire.attempt, "reason": fire.reason},
        "last_fire": None if last is None else [last.id, last.attempt, last.outcome, last.at],
        "retry_at": facts.retry_at,
        "tries": facts.tries,
        "dead": [letter.id for letter in facts.dead.values()],
        "fires": facts.fires,
        "ok": facts.ok,
        "bad": facts.bad,
        "freshness": facts.pub_f if has_freshness else None,
    }


def _source(state: State, source: SourceLife) -> dict[str, object]:
    facts = source.facts
    return {
        "value": None if facts.cur is None else facts.cur.value,
        "seen": facts.seen,
        "consumed": facts.consumed,
        "dirty": is_dirty(state.shape, facts),
        "queued": len(facts.queue),
        "buffered": len(facts.buffer),
        "parked": len(source.parked),
        "health": source.health.value,
        "offset": _offset(facts),
        "attempts": facts.attempts,
        "dropped": facts.dropped,
        "rejected": source.rejected,
        "dup": source.dup,
    }


def _offset(facts: SourceFacts) -> int | dict[str, int] | None:
    lanes = {lane: offset for lane, offset in facts.lanes.items() if not lane.startswith(ONE_MESSAGE)}
    return dict(sorted(lanes.items())) or facts.offset
