"""Demand: how a Pond takes it up and how it asks its Sources.

A pull is a number, not a flag: "fresher than F". A receiver keeps the largest, so duplicates and re-sends are harmless,
and starting a Run consumes it without any code. Each Source is told once for each value taken from it.
"""

from bisect import bisect_left, bisect_right, insort

from pondage.kernel.demand.agreeing import ask_anew
from pondage.kernel.demand.effects import Demanded, Reason
from pondage.kernel.demand.goal import aim
from pondage.kernel.demand.shape import NONE, PondKey
from pondage.kernel.demand.signals import Target, Want
from pondage.kernel.demand.state import WAVE, PausedBy, RippleState
from pondage.kernel.demand.work import Pond, Work


def tap(work: Work, pond: Pond) -> None:
    """Pull at every leaf for something fresher than it started last. A blocked Pond ignores it."""
    if pond.state.is_blocked:
        return
    ripples, end_f = pond.state.ripples, pond.state.end_f
    # A leaf that a deploy just added never started anything; what the Pond published counts for it.
    want(work, pond, [(name, max(ripples[name].start_f, end_f)) for name in pond.shape.leaves])


def on_want(work: Work, pond: Pond, freshness: int) -> None:
    """Take up a Sink's pull at every leaf. A blocked Pond ignores it; the Sink sends it again when it is unblocked."""
    if pond.state.is_blocked:
        return
    if pond.shape.is_fed:
        work.emit(Demanded(pond=pond.key, reason=Reason.PULL, want=freshness))
        return
    want(work, pond, [(name, freshness) for name in pond.shape.leaves])


def want(work: Work, pond: Pond, pending: list[tuple[str, int]]) -> None:
    """Carry pulls of Ripples upwards to the roots, each parent once for each value taken from it."""
    state, parents = pond.state, pond.shape.ripples
    is_changed = False
    while pending:
        name, freshness = pending.pop()
        ripple = state.ripples[name]
        if freshness < ripple.prev:
            continue  # an older Run than the latest already served it
        if parents[name]:
            if freshness > ripple.want:
                ripple.want = freshness
                is_changed = True
            if not ripple.has_told:
                pass_on(ripple, pending)
                is_changed = True
        else:
            if freshness > state.want:
                state.want = freshness
                is_changed = True
            if not state.is_blocked and not state.has_told:
                tell(work, pond)
                is_changed = True
    if is_changed:
        ask_anew(work, pond)
        aim(pond)
        work.change(pond)


def pass_on(ripple: RippleState, pending: list[tuple[str, int]]) -> None:
    """Add what this Ripple asks of its parents, once for each value taken."""
    for parent, taken in ripple.taken.items():
        if ripple.told[parent] < taken:
            ripple.told[parent] = taken
            pending.append((parent, taken))
    ripple.has_told = True


def tell(work: Work, pond: Pond) -> None:
    """Ask each Source, optional ones too, for something fresher than was taken, once for each value taken."""
    state = pond.state
    if state.has_told:
        return
    for key, source in state.sources.items():
        if source.told < source.taken:
            _ask(work, pond, key)
    state.has_told = True


def on_target(work: Work, pond: Pond, freshness: int) -> None:
    """Hold a target until a completed Run meets it, and hand it on to the Sources that are below it."""
    state = pond.state
    targets = state.targets
    if state.is_blocked or freshness <= state.end_f:
        return
    if pond.shape.is_fed:
        work.emit(Demanded(pond=pond.key, reason=Reason.PUSH, target=freshness))
        return
    at = bisect_left(targets, freshness)
    if at < len(targets) and targets[at] == freshness:
        return
    insort(targets, freshness)
    ask_anew(work, pond)
    if freshness > state.start_f:
        push_behind(work, pond, freshness)
    aim(pond)
    work.change(pond)


def push_behind(work: Work, pond: Pond, freshness: int) -> None:
    """Hand a target on to the required Sources (all, where none is required) that are below it."""
    for key, source in pond.state.sources.items():
        if source.end_f < freshness and key in pond.shape.gating:
            work.send_up(key, Target(freshness))


def resend(work: Work, pond: Pond, key: PondKey) -> None:
    """Send held demand to a Source again: it may have ignored it while it was blocked."""
    state = pond.state
    if state.has_pull:
        _ask(work, pond, key)
    if key in pond.shape.gating:
        for target in state.targets[bisect_right(state.targets, max(state.start_f, state.sources[key].end_f)) :]:
            work.send_up(key, Target(target))


def resend_all(work: Work, pond: Pond) -> None:
    """Send held demand to every Source again."""
    for key in pond.state.sources:
        resend(work, pond, key)


def forget_told(pond: Pond, key: PondKey) -> None:
    """Have the next demand ask this Source again."""
    pond.state.sources[key].told = NONE
    pond.state.has_told = False


def drop_demand(work: Work, pond: Pond, by: PausedBy) -> None:
    """Forget all demand and every standing trigger; Schedules are the host's, and are paused.

    The Ripples' memory of what they told each other goes too: what was told is forgotten at the roots, so a later pull
    has to travel the whole way again.
    """
    state = pond.state
    state.want = NONE
    state.targets.clear()
    state.wave = None
    state.tides.clear()
    work.unfollow(pond, state.following)
    state.paused = {name: state.paused.get(name, by) for name in pond.shape.schedules}
    state.is_woken = state.is_forced = state.is_comparing = False
    state.older, state.catch_up_to = [], NONE
    state.rollback, state.rollback_f = None, NONE
    state.skip = 0
    for ripple in state.ripples.values():
        ripple.want = NONE
        ripple.told = dict.fromkeys(ripple.told, NONE)
        ripple.has_told = False
    aim(pond)


def standing_triggers(pond: Pond) -> list[str]:
    """Give the names of all standing triggers: the Wave, Tides, Schedules."""
    state = pond.state
    wave = [WAVE] if state.wave is not None else []
    return list(dict.fromkeys([*wave, *state.tides, *pond.shape.schedules]))


def prune_triggers(work: Work, pond: Pond) -> None:
    """Forget what was of triggers that are no more: another of the same name was not paused and has learned nothing."""
    standing = standing_triggers(pond)
    work.unfollow(pond, [name for name in pond.state.following if name not in standing])
    pond.state.paused = {name: by for name, by in pond.state.paused.items() if name in standing}


def _ask(work: Work, pond: Pond, key: PondKey) -> None:
    state = pond.state
    source = state.sources[key]
    source.told = source.taken
    if source.end_f < state.start_f and key in pond.shape.required:
        # Only a deploy can bind a required Source that is staler than this Pond: one more Run of it may not be enough.
        work.send_up(key, Target(state.start_f + 1))
    else:
        work.send_up(key, Want(source.taken))
