"""When a Pond must be looked at again although nothing happens to it. Timers are hints: a Tick too many is harmless."""

from pondage.kernel.demand import readers, tide
from pondage.kernel.demand.effects import Reason, Timer
from pondage.kernel.demand.goal import source_f
from pondage.kernel.demand.shape import NONE
from pondage.kernel.demand.work import Pond, Work


def set_timer(work: Work, pond: Pond) -> None:
    """Ask for a Tick at the earliest time that can change something, unless it was asked for already."""
    state = pond.state
    at, reason = opens_at(pond, work.now), Reason.WINDOW if pond.shape.calendar else Reason.CLOCK
    if tide.limit(state) != NONE and tide.has_room(pond):
        due = tide.due_at(pond)
        if due > work.now and (at == NONE or due < at):
            at, reason = due, Reason.TIDE
    looked_at = readers.next_look(pond)
    if looked_at != NONE and (at == NONE or looked_at < at):
        at, reason = looked_at, Reason.READERS
    if at != NONE and at != state.timer:
        state.timer = at
        work.changed[pond.key] = None
        work.emit(Timer(pond=pond.key, reason=reason, at=at))


def opens_at(pond: Pond, now: int) -> int:
    """Give when the clock alone lets a demanded Inlet start: its next window or unit; NONE if nothing waits."""
    state, shape = pond.state, pond.shape
    if not shape.is_inlet or state.goal == NONE or state.is_killed or source_f(pond, now) >= state.goal:
        return NONE
    if shape.calendar is None:
        return state.goal
    start = shape.calendar.next_start(now)
    return NONE if start is None else start
