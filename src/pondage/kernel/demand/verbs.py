"""What operators and triggers do to a Pond."""

from pondage.kernel.demand import chunks, readers
from pondage.kernel.demand.agreeing import ask_anew
from pondage.kernel.demand.asking import drop_demand, on_target, prune_triggers, standing_triggers, tap
from pondage.kernel.demand.blocking import clear, roll_back, set_blocked
from pondage.kernel.demand.deploying import on_remove
from pondage.kernel.demand.effects import Cancel, Reason, RunDropped
from pondage.kernel.demand.events import (
    Backfill,
    Calm,
    Clear,
    Due,
    Force,
    Kill,
    Pause,
    Pulse,
    Read,
    Remove,
    Resume,
    Rollback,
    Sleep,
    Standing,
    Tap,
    Tide,
    Verb,
    Wake,
    Wave,
    Withdraw,
)
from pondage.kernel.demand.goal import aim
from pondage.kernel.demand.running import release
from pondage.kernel.demand.shape import NONE
from pondage.kernel.demand.signals import Dropped, Slumber
from pondage.kernel.demand.state import WAVE, Pacing, PausedBy
from pondage.kernel.demand.work import Pond, Work


def apply(work: Work, pond: Pond, event: Verb, number: int) -> None:
    """Apply one verb to its Pond; `number` is the place of the event in its step."""
    work.look(pond)  # even if it changes nothing, time may have passed
    match event:
        case Tap():
            tap(work, pond)
        case Pulse():
            on_target(work, pond, work.now if event.at is None else min(event.at, work.now))
        case Read():
            readers.on_read(work, pond, event)
        case Wave() | Tide() | Calm() | Due() | Pause() | Resume():
            _stand(work, pond, event)
        case Sleep():
            sleep(work, pond)
            if event.upstream:
                on_slumber(work, pond, number)
        case Backfill():
            chunks.on_backfill(work, pond, event)
        case Withdraw():
            chunks.on_withdraw(work, pond, event)
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
    chunks.drop(work, pond, reason)
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
    sleep(work, pond, PausedBy.KILL)
    set_blocked(work, pond, reason)


def sleep(work: Work, pond: Pond, by: PausedBy = PausedBy.SLEEP) -> None:
    """Forget demand and standing triggers; started Runs complete. The Sinks ask again with their next demand."""
    drop_demand(work, pond, by)
    work.send_down(pond, Dropped(pond.key))
    work.change(pond)


def on_slumber(work: Work, pond: Pond, number: int) -> None:
    """Hand a Sleep on to the Sources, to each Pond once. It travels behind the demand that was sent before it."""
    if (pond.key, number) not in work.slept:
        work.slept.add((pond.key, number))
        for source in pond.state.sources:
            work.send_up(source, Slumber(number))


def _stand(work: Work, pond: Pond, event: Standing) -> None:
    """Give, take away, pause or resume standing triggers, or do what one of them asks."""
    state = pond.state
    match event:
        case Wave():
            # Whoever gives a trigger wants it to ask, also when one of its name was paused.
            state.wave = event.pacing
            readers.follow(work, pond, WAVE, event.follow)
            _resume(work, pond, [WAVE])
        case Tide():
            state.tides[event.name] = max(event.limit, 0)
            readers.follow(work, pond, event.name, event.follow)
            _resume(work, pond, [event.name])
        case Calm():
            for name in _named(pond, event.name):
                if name == WAVE:
                    state.wave = None
                state.tides.pop(name, None)
            prune_triggers(work, pond)
        case Pause():
            state.paused.update(dict.fromkeys(_named(pond, event.name), PausedBy.PAUSE))
        case Resume():
            _resume(work, pond, _named(pond, event.name))
        case Due():
            if event.name not in state.paused:
                on_target(work, pond, min(event.at, work.now))
            return
    work.change(pond)


def _named(pond: Pond, name: str | None) -> list[str]:
    standing = standing_triggers(pond)
    return standing if name is None else [name] if name in standing else []


def _resume(work: Work, pond: Pond, names: list[str]) -> None:
    for name in names:
        pond.state.paused.pop(name, None)
    if WAVE in names and pond.state.asking_wave is Pacing.EAGER:
        tap(work, pond)


def _restart(work: Work, pond: Pond, event: Verb) -> None:
    state = pond.state
    if not isinstance(event, Clear | Wake | Force | Rollback):
        return
    clear(work, pond)
    ask_anew(work, pond)
    match event:
        case Wake():
            _resume(work, pond, [name for name, by in state.paused.items() if by is not PausedBy.PAUSE])
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
