"""Runs: when one starts, which Ripples it starts, and when it is finished."""

from bisect import bisect_right
from operator import attrgetter

from pondage.kernel.demand import pace, tide
from pondage.kernel.demand.agreeing import may_read
from pondage.kernel.demand.asking import pass_on, push_behind, tap, tell, want
from pondage.kernel.demand.blocking import clear, recover, set_blocked
from pondage.kernel.demand.effects import Reason, RunFinished, StartRipple, StartRun
from pondage.kernel.demand.goal import aim, source_delay, source_f
from pondage.kernel.demand.shape import NEVER, NONE
from pondage.kernel.demand.state import RUNS_BETWEEN_CHUNKS, Pacing, RippleState, RunState
from pondage.kernel.demand.work import Pond, Work

by_freshness = attrgetter("freshness")


def evaluate(work: Work, pond: Pond) -> None:
    """Start whatever can start: Ripples of active Runs, then a Run that is due by force, by demand or by Wake."""
    state = pond.state
    if pond.candidates:
        _start_candidates(work, pond)
    if state.rollback is not None or state.is_forced:
        _start_forced(work, pond)
    if pond.shape.is_fed:
        return
    if state.goal != NONE and state.behind == 0 and _can_start(pond):
        freshness = source_f(pond, work.now)
        if freshness >= state.goal and may_read(work, pond, freshness, _reason(pond)):
            start_run(work, pond, freshness, _reason(pond))
    if state.is_woken and not state.is_comparing and not state.is_for_chunk:  # one that could not start is not held
        state.is_woken = False
        aim(pond)
        work.change(pond)


def start_run(work: Work, pond: Pond, freshness: int, reason: Reason) -> None:
    """Start a Run: take what the Sources have and, when it is pulled, ask them for the next."""
    state, shape = pond.state, pond.shape
    is_pulled = state.has_pull
    is_forced = reason is Reason.FORCE
    is_repeated = is_forced and freshness == state.end_f
    if not is_repeated:
        state.delay = source_delay(pond, freshness, work.now)
        state.wait = 0 if shape.is_inlet else work.now - state.arrived_at
        pace.refresh(pond)
        tide.correct(pond, freshness, work.now)
    for source in state.sources.values():
        source.taken = source.end_f
    state.has_told = False
    state.catch_up_to = NONE
    if freshness > state.top_f:
        state.top_f = freshness
        left, candidates = len(state.ripples), shape.roots
    else:
        candidates = tuple(name for name in shape.order if state.ripples[name].end_f < freshness)
        left = len(candidates)
    state.start_f = freshness
    state.number += 1
    if state.since_chunk != NONE:
        state.since_chunk = min(state.since_chunk + 1, RUNS_BETWEEN_CHUNKS)
    state.active.append(
        RunState(
            number=state.number,
            freshness=freshness,
            delay=state.delay,
            left=left,
            immediate_left=shape.retries.immediately,
            is_forced=is_forced,
        )
    )
    work.emit(
        StartRun(
            pond=pond.key,
            reason=reason,
            number=state.number,
            freshness=freshness,
            delay=state.delay,
            taken={key: source.taken for key, source in state.sources.items()},
            is_forced=is_forced,
            is_full=is_forced and state.is_full,
        )
    )
    if is_forced:
        state.is_full = False
    if is_pulled and not state.is_blocked:
        tell(work, pond)
    aim(pond)
    work.change(pond)
    pond.candidates.update(dict.fromkeys(candidates))
    _start_candidates(work, pond)
    finish(work, pond)


def execute(work: Work, pond: Pond, name: str, reason: Reason) -> None:
    """Execute a Ripple at its `start_f`, as a new attempt."""
    state = pond.state
    ripple = state.ripples[name]
    ripple.is_busy = True
    ripple.attempt += 1
    ripple.since = work.now
    state.busy += 1
    state.busy_roots += not pond.shape.ripples[name]
    run = state.active[bisect_right(state.active, ripple.start_f, key=by_freshness) - 1]
    work.emit(
        StartRipple(
            pond=pond.key,
            reason=reason,
            ripple=name,
            number=run.number,
            freshness=ripple.start_f,
            attempt=ripple.attempt,
            is_retry=reason is Reason.RETRY,
            is_forced=run.is_forced,
        )
    )


def release(pond: Pond, name: str) -> None:
    """Note that a Ripple is no longer executing."""
    pond.state.ripples[name].is_busy = False
    pond.state.busy -= 1
    pond.state.busy_roots -= not pond.shape.ripples[name]


def finish(work: Work, pond: Pond) -> None:
    """Complete every leading Run that no Ripple is missing from; the last of them is published, the others with it."""
    state = pond.state
    count = 0
    while count < len(state.active) and state.active[count].left <= 0:
        count += 1
    if count == 0:
        return
    run = state.active[count - 1]
    subsumed = tuple(other.number for other in state.active[: count - 1])
    del state.active[:count]
    is_fresher = run.freshness > state.end_f
    if is_fresher:
        state.end_f, state.end_delay = run.freshness, run.delay
    del state.targets[: bisect_right(state.targets, state.end_f)]
    state.has_run = True
    work.emit(
        RunFinished(
            pond=pond.key,
            reason=Reason.COMPLETED,
            number=run.number,
            freshness=run.freshness,
            delay=run.delay,
            subsumed=subsumed,
            is_fresher=is_fresher,
        )
    )
    pace.refresh(pond)
    if is_fresher:
        work.send_down(pond, pace.published(pond))
    completed(work, pond)


def completed(work: Work, pond: Pond) -> None:
    """What follows from any completion: recovery from an older failure, and the next Tap of a Wave."""
    state = pond.state
    if state.is_failed and state.end_f > state.failed_f:
        recover(work, pond, Reason.RECOVERED)
        set_blocked(work, pond, Reason.RECOVERED)
    if state.asking_wave is Pacing.EAGER:
        tap(work, pond)
    aim(pond)
    work.change(pond)


def _start_candidates(work: Work, pond: Pond) -> None:
    state = pond.state
    candidates, pond.candidates = pond.candidates, {}
    for name in candidates:
        ripple = state.ripples.get(name)
        if ripple is None or ripple.is_busy:
            continue
        freshness = _startable(pond, name, ripple)
        if freshness != NONE:
            _start_ripple(work, pond, name, freshness)


def _startable(pond: Pond, name: str, ripple: RippleState) -> int:
    state = pond.state
    at = bisect_right(state.active, ripple.start_f, key=by_freshness)
    if at == len(state.active):
        return NONE
    needed = state.active[at].freshness
    parents = pond.shape.ripples[name]
    if not parents:
        return state.start_f if needed <= state.start_f else NONE
    # The parents before the one it waits on were seen to be far enough, so all looks together cost one pass.
    if ripple.waits_for != needed:
        ripple.waits_on, ripple.waits_for = 0, needed
    while ripple.waits_on < len(parents):
        if state.ripples[parents[ripple.waits_on]].end_f < needed:
            return NONE
        ripple.waits_on += 1
    return min(state.ripples[parent].end_f for parent in parents)


def _start_ripple(work: Work, pond: Pond, name: str, freshness: int) -> None:
    state = pond.state
    ripple = state.ripples[name]
    is_pulled = bool(ripple.taken) and ripple.want >= ripple.start_f
    ripple.prev = ripple.start_f
    ripple.start_f = freshness
    for parent in ripple.taken:
        ripple.taken[parent] = state.ripples[parent].end_f
    ripple.has_told = False
    execute(work, pond, name, Reason.PULL if is_pulled else Reason.RUN)
    work.change(pond)
    if is_pulled:
        pending: list[tuple[str, int]] = []
        pass_on(ripple, pending)
        want(work, pond, pending)


def _can_start(pond: Pond) -> bool:
    state = pond.state
    return not state.is_killed and state.busy_roots == 0 and state.deploying is None and not state.is_for_chunk


def _reason(pond: Pond) -> Reason:
    state = pond.state
    if state.is_failed:
        return Reason.RETRY
    if state.has_pull:
        return Reason.PULL
    return Reason.WAKE if state.is_woken else Reason.PUSH


def _start_forced(work: Work, pond: Pond) -> None:
    state = pond.state
    if state.active or state.chunk is not None:
        return
    if state.is_failed:  # a Run that was active when the verb came failed meanwhile
        clear(work, pond)
    if state.rollback is not None and (state.rollback_f == NONE or state.busy == 0):
        _roll_back_to(work, pond, state.rollback)
    if not state.is_forced or not _can_start(pond):
        return
    freshness = source_f(pond, work.now)
    if freshness > state.start_f:
        if may_read(work, pond, freshness, Reason.FORCE):
            state.is_forced = False
            start_run(work, pond, freshness, Reason.FORCE)
    elif state.end_f == NEVER:
        state.is_forced = False
        work.change(pond)
    elif pond.shape.required and freshness < state.end_f:
        # A deploy bound a Source that is staler than this Pond: repeating now would claim a freshness nobody has.
        push_behind(work, pond, state.end_f)
    elif state.busy == 0 and may_read(work, pond, state.end_f, Reason.FORCE):
        state.is_forced = False
        for ripple in state.ripples.values():
            ripple.prev = min(ripple.prev, state.end_f - 1)
            ripple.start_f = ripple.end_f = ripple.prev
            ripple.waits_for = NONE
        start_run(work, pond, state.end_f, Reason.FORCE)


def _roll_back_to(work: Work, pond: Pond, older: str) -> None:
    state = pond.state
    given, state.rollback, state.rollback_f = state.rollback_f, None, NONE
    work.change(pond)
    is_fresher = given > state.end_f
    if is_fresher:
        _take_over(pond, given)
    if state.end_f == NEVER:
        return
    state.number += 1
    work.emit(
        StartRun(
            pond=pond.key,
            reason=Reason.ROLLBACK,
            number=state.number,
            freshness=state.end_f,
            delay=state.end_delay,
            taken={},
            rollback=older,
        )
    )
    work.emit(
        RunFinished(
            pond=pond.key,
            reason=Reason.ROLLBACK,
            number=state.number,
            freshness=state.end_f,
            delay=state.end_delay,
            is_fresher=is_fresher,
            rollback=older,
        )
    )
    if is_fresher:
        pace.refresh(pond)
        work.send_down(pond, pace.published(pond))
    completed(work, pond)


def _take_over(pond: Pond, freshness: int) -> None:
    """Be as fresh as a Run that was made elsewhere, as if the Pond's own Ripples had made it."""
    state = pond.state
    state.end_f = freshness
    state.start_f, state.top_f = max(state.start_f, freshness), max(state.top_f, freshness)
    state.has_run = True
    del state.targets[: bisect_right(state.targets, freshness)]
    for ripple in state.ripples.values():
        if ripple.end_f < freshness:
            ripple.prev = ripple.start_f = ripple.end_f = freshness
            ripple.taken = dict.fromkeys(ripple.taken, freshness)
            ripple.waits_for = NONE
