"""Pushes that wait: a producer that is asked to block gets its acknowledgement when there is room."""

from collections import deque

from pondage.kernel.reaction.effects import Throttle
from pondage.kernel.reaction.state import SourceLife, State


def refuse_parked(state: State, source: SourceLife, error: str, *, only_offsets: bool = False) -> None:
    """Refuse what waits (or only what its source will read again)."""
    waiting, source.parked = source.parked, deque()
    for event in waiting:
        if only_offsets and event.offset is None:
            source.parked.append(event)
        elif error == "unavailable":
            refuse_unavailable(state, source, event.cid)
        else:
            refuse(state, source, event.cid, error)
    if source.is_throttled and not source.parked:
        source.is_throttled = False
        state.out.append(Throttle(source.name, False))


def hear(state: State, source: SourceLife) -> None:
    """Note that the source spoke. Its timer is set anew only when it runs out, so a push costs nothing."""
    source.heard_at = state.now
    if source.is_silent:
        source.is_silent = False
        state.is_health_due = True
        if source.shape.stale_after is not None:
            state.arm("stale", source.name, state.now + source.shape.stale_after)


def refuse(state: State, source: SourceLife, cid: str | None, error: str) -> None:
    """Refuse a push, by name."""
    source.rejected += 1
    state.reply(cid, {"accepted": False, "error": error})


def refuse_unavailable(state: State, source: SourceLife, cid: str | None) -> None:
    """Refuse a push to an accumulator that is down; say when it is worth trying again."""
    source.rejected += 1
    restart = state.timers.get(("restart", source.name), state.timers.get(("restart", "")))
    wait = None if restart is None else restart - state.now
    state.reply(cid, {"accepted": False, "error": "unavailable", "retry_after": wait})
