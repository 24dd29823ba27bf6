"""Clearing: a halted Pond goes back to what it completed, and the demand that it held revives by itself."""

from pondage.kernel.demand.blocking import recover, set_blocked
from pondage.kernel.demand.effects import Reason
from pondage.kernel.demand.goal import aim
from pondage.kernel.demand.state import RippleState
from pondage.kernel.demand.work import Pond, Work


def clear(work: Work, pond: Pond) -> None:
    """Acknowledge a failure or a Kill. On a healthy Pond nothing changes."""
    state = pond.state
    if state.is_failed or state.is_killed:
        recover(work, pond, Reason.CLEARED)
        state.is_killed = False
        latest = state.active[-1] if state.active else None
        state.start_f = max(state.end_f, latest.freshness) if latest else state.end_f
        state.delay = latest.delay if latest else state.end_delay
        for ripple in state.ripples.values():
            if not ripple.is_busy or state.chunk is not None:  # what a chunk executes belongs to no start
                roll_back(ripple)
        work.change(pond)
        set_blocked(work, pond, Reason.CLEARED)
        aim(pond)


def roll_back(ripple: RippleState) -> None:
    """Forget a start that led to nothing.

    `prev` falls with it: it may name a start that failed too, and a Want that only such a start would have served was
    served by nobody.
    """
    ripple.start_f = ripple.end_f
    ripple.prev = min(ripple.prev, ripple.end_f)
