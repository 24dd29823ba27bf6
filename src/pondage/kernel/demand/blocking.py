"""Blocking: a Pond that failed, was killed, or has a blocked required Source takes no new demand, and says so.

Clearing: a halted Pond goes back to what it completed, and the demand that it held revives by itself.
"""

from pondage.kernel.demand.agreeing import ask_anew
from pondage.kernel.demand.asking import forget_told, resend, resend_all, tap
from pondage.kernel.demand.effects import Blocked, Reason, Recovered, Unblocked
from pondage.kernel.demand.goal import aim
from pondage.kernel.demand.shape import NEVER, PondKey
from pondage.kernel.demand.signals import SourceBlocked, SourceUnblocked
from pondage.kernel.demand.state import Pacing, RippleState
from pondage.kernel.demand.work import Pond, Work


def set_blocked(work: Work, pond: Pond, reason: Reason) -> None:
    """Derive whether the Pond is blocked; on a change tell the Sinks, and when unblocked send held demand again."""
    state = pond.state
    is_blocked = state.is_failed or state.is_killed or state.blocked_sources > 0
    if is_blocked == state.is_blocked:
        return
    state.is_blocked = is_blocked
    work.change(pond)
    if is_blocked:
        work.emit(Blocked(pond=pond.key, reason=reason))
        work.send_down(pond, SourceBlocked(pond.key))
        return
    work.emit(Unblocked(pond=pond.key, reason=reason))
    work.send_down(pond, SourceUnblocked(pond.key))
    resend_all(work, pond)
    if state.asking_wave is Pacing.EAGER:
        tap(work, pond)


def recover(work: Work, pond: Pond, reason: Reason) -> None:
    """Forget a failure, because a fresher Run succeeded or an operator cleared it."""
    state = pond.state
    if state.is_failed:
        work.emit(Recovered(pond=pond.key, reason=reason))
    state.is_failed = False
    state.failed_f = NEVER
    state.failures = 0


def on_source_blocked(work: Work, pond: Pond, key: PondKey) -> None:
    """Note that a Source is blocked; an optional one blocks nobody."""
    source = pond.state.sources.get(key)
    if source is None or source.is_blocked:
        return
    source.is_blocked = True
    work.change(pond)
    if key in pond.shape.required:
        pond.state.blocked_sources += 1
        set_blocked(work, pond, Reason.SOURCE)


def on_source_unblocked(work: Work, pond: Pond, key: PondKey) -> None:
    """Note that a Source takes demand again, and send it what it may have ignored."""
    source = pond.state.sources.get(key)
    if source is None or not source.is_blocked:
        return
    source.is_blocked = False
    forget_told(pond, key)
    ask_anew(work, pond)
    work.change(pond)
    was_blocked = pond.state.is_blocked
    if key in pond.shape.required:
        pond.state.blocked_sources -= 1
        set_blocked(work, pond, Reason.SOURCE)
    if not was_blocked and not pond.state.is_blocked:
        resend(work, pond, key)


def on_dropped(work: Work, pond: Pond, key: PondKey) -> None:
    """Note that a Source forgot what it was asked: the next demand asks again."""
    if key in pond.state.sources:
        forget_told(pond, key)
        work.change(pond)


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
