"""Reports of executions: a Ripple is done, or it failed. A report of any but the current attempt is ignored."""

from bisect import bisect_right

from pondage.kernel.demand import pace
from pondage.kernel.demand.blocking import roll_back, set_blocked
from pondage.kernel.demand.effects import Failed, Reason, RunDropped
from pondage.kernel.demand.events import Done, Fail
from pondage.kernel.demand.goal import aim
from pondage.kernel.demand.running import by_freshness, execute, release
from pondage.kernel.demand.state import RippleState
from pondage.kernel.demand.work import Pond, Work


def on_done(work: Work, pond: Pond, event: Done) -> None:
    """Advance the Ripple and count it for every Run that it reached. Nothing starts yet: the instant is not settled."""
    ripple = _reported(pond, event)
    if ripple is None:
        return
    release(pond, event.ripple)
    if not event.reused:  # what was not executed says nothing about durations
        pace.measure(pond, ripple, max(work.now - ripple.since, 0))
    first, last = _reached(pond, ripple)
    ripple.end_f = ripple.start_f
    for run in pond.state.active[first:last]:
        run.left -= 1
    pond.candidates[event.ripple] = None
    pond.candidates.update(dict.fromkeys(pond.shape.children[event.ripple]))
    work.change(pond)


def on_fail(work: Work, pond: Pond, event: Fail) -> None:
    """Execute the Ripple again while its Run has a budget; else give up the Runs it was reaching, and fail the Pond."""
    ripple = _reported(pond, event)
    if ripple is None:
        return
    state = pond.state
    release(pond, event.ripple)
    pond.candidates[event.ripple] = None  # a newer Run in flight may need it
    work.change(pond)
    first, last = _reached(pond, ripple)
    hit = state.active[first:last]
    if not hit:
        roll_back(ripple)
    elif hit[-1].immediate_left > 0:
        hit[-1].immediate_left -= 1
        execute(work, pond, event.ripple, Reason.RETRY)
    else:
        del state.active[first:last]
        state.is_failed = True
        state.failed_f = max(state.failed_f, ripple.start_f)
        state.failures += 1
        work.emit(
            RunDropped(
                pond=pond.key,
                reason=Reason.FAILED,
                numbers=tuple(run.number for run in hit),
                freshnesses=tuple(run.freshness for run in hit),
            )
        )
        work.emit(
            Failed(
                pond=pond.key,
                reason=Reason.FAILED,
                ripple=event.ripple,
                attempt=event.attempt,
                freshness=ripple.start_f,
                failures=state.failures,
                error=event.error,
            )
        )
        set_blocked(work, pond, Reason.FAILED)
        aim(pond)


def _reported(pond: Pond, event: Done | Fail) -> RippleState | None:
    ripple = pond.state.ripples.get(event.ripple)
    return ripple if ripple is not None and ripple.is_busy and ripple.attempt == event.attempt else None


def _reached(pond: Pond, ripple: RippleState) -> tuple[int, int]:
    active = pond.state.active
    return (
        bisect_right(active, ripple.end_f, key=by_freshness),
        bisect_right(active, ripple.start_f, key=by_freshness),
    )
