"""What operators and triggers do to a Pond."""

from pondage.kernel.demand.asking import drop_demand, on_target, tap
from pondage.kernel.demand.blocking import set_blocked
from pondage.kernel.demand.clearing import clear, roll_back
from pondage.kernel.demand.deploying import on_remove
from pondage.kernel.demand.effects import Cancel, Reason, RunDropped
from pondage.kernel.demand.events import (
    Calm,
    Clear,
    Force,
    Kill,
    Pulse,
    Remove,
    Rollback,
    Sleep,
    Tap,
    Tide,
    Verb,
    Wake,
    Wave,
)
from pondage.kernel.demand.goal import aim
from pondage.kernel.demand.running import release
from pondage.kernel.demand.shape import NONE
from pondage.kernel.demand.signals import Dropped, Slumber
from pondage.kernel.demand.state import Pacing
from pondage.kernel.demand.work import Pond, Work


def apply(work: Work, pond: Pond, event: Verb, number: int) -> None:
    """Apply one verb to its Pond; `number` is the place of the event in its step."""
    work.look(pond)  # even if it changes nothing, time may have passed
    match event:
        case Tap():
            tap(work, pond)
        case Pulse():
            on_target(work, pond, work.now if event.at is None else min(event.at, work.now))
        case Wave():
            _wave(work, pond, event.pacing)
        case Tide():
            pond.state.tides[event.name] = max(event.limit, 0)
            work.change(pond)
        case Calm():
            _calm(work, pond, event.name)
        case Sleep():
            sleep(work, pond)
            if event.upstream:
                on_slumber(work, pond, number)
        case Kill():
            kill(work, pond, Reason.KILLED)
        case Remove():
            kill(work, pond, Reason.REMOVED)
            on_remove(work, pond)
        case _:
            _restart(work, pond, event)


def kill(work: Work, pond: Pond, reason: Reason) -> None:
    """Cancel what runs, give up active Runs, forget demand and standing triggers, and block the Sinks until Clear."""
    state = pond.state
    for name, ripple in state.ripples.items():
        if ripple.is_busy:
            release(pond, name)
            work.emit(Cancel(pond=pond.key, reason=reason, ripple=name, attempt=ripple.attempt))
        roll_back(ripple)
    if state.active:
        work.emit(
            RunDropped(
                pond=pond.key,
                reason=reason,
                numbers=tuple(run.number for run in state.active),
                freshnesses=tuple(run.freshness for run in state.active),
            )
        )
        state.active.clear()
    state.start_f, state.delay = state.end_f, state.end_delay
    state.is_killed = True
    sleep(work, pond)
    set_blocked(work, pond, reason)


def sleep(work: Work, pond: Pond) -> None:
    """Forget demand and standing triggers; started Runs complete. The Sinks ask again with their next demand."""
    drop_demand(pond)
    work.send_down(pond, Dropped(pond.key))
    work.change(pond)


def on_slumber(work: Work, pond: Pond, number: int) -> None:
    """Hand a Sleep on to the Sources, to each Pond once. It travels behind the demand that was sent before it."""
    if (pond.key, number) not in work.slept:
        work.slept.add((pond.key, number))
        for source in pond.state.sources:
            work.send_up(source, Slumber(number))


def _wave(work: Work, pond: Pond, pacing: Pacing) -> None:
    pond.state.wave = pacing
    work.change(pond)
    if pacing is Pacing.EAGER:
        tap(work, pond)


def _calm(work: Work, pond: Pond, name: str | None) -> None:
    state = pond.state
    if name is None or name == "wave":
        state.wave = None
    if name is None:
        state.tides.clear()
    else:
        state.tides.pop(name, None)
    work.change(pond)


def _restart(work: Work, pond: Pond, event: Verb) -> None:
    state = pond.state
    if not isinstance(event, Clear | Wake | Force | Rollback):
        return
    clear(work, pond)
    match event:
        case Wake():
            state.is_woken = True
            aim(pond)
        case Force():
            state.is_full = event.full or (state.is_forced and state.is_full)
            state.is_forced = True
        case Rollback():
            state.rollback = event.run
            state.rollback_f = NONE if event.freshness is None else min(event.freshness, work.now)
        case _:
            return
    work.change(pond)
