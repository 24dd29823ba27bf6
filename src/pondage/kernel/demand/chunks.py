"""Chunks of backfills: Runs that compute a part of what a Pond has published again, beside the demand for it.

A chunk runs alone: no other Run of its Pond is active meanwhile, so that no two Runs extend the same data. It starts
when nothing that is asked for can, or when ten Runs that were asked for have started since the last one. Nothing that
the rules of demand know is changed by it: no freshness, want, target, failure, estimate or standing trigger.
"""

from pondage.kernel.demand.effects import Cancel, ChunkEnded, Reason, RunDropped, RunFinished, StartRipple, StartRun
from pondage.kernel.demand.events import Backfill, Done, Fail, Withdraw
from pondage.kernel.demand.running import release
from pondage.kernel.demand.shape import NEVER, NONE
from pondage.kernel.demand.state import ChunkState
from pondage.kernel.demand.work import Pond, Work


def on_backfill(work: Work, pond: Pond, event: Backfill) -> None:
    """Hold a chunk until it can start; what can never start is given back at once. Twice the same changes nothing."""
    state = pond.state
    if event.chunk in state.chunks or (state.chunk is not None and state.chunk.chunk == event.chunk):
        return
    refused = _refused(pond)
    if refused is not None:
        work.emit(ChunkEnded(pond=pond.key, reason=refused, chunk=event.chunk))
        return
    state.chunks.append(event.chunk)
    state.since_chunk = max(state.since_chunk, 0)
    work.change(pond)


def on_withdraw(work: Work, pond: Pond, event: Withdraw) -> None:
    """Give a chunk back that has not started, and stop one that runs when that is asked for."""
    state = pond.state
    if event.chunk in state.chunks:
        state.chunks.remove(event.chunk)
        work.emit(ChunkEnded(pond=pond.key, reason=Reason.VERB, chunk=event.chunk))
        work.change(pond)
    elif event.stop and state.chunk is not None and state.chunk.chunk == event.chunk:
        _give_up(work, pond, Reason.VERB)


def drop(work: Work, pond: Pond, reason: Reason) -> None:
    """Give back every chunk, also the one that runs: its Pond is killed or removed."""
    if pond.state.chunk is not None:
        _give_up(work, pond, reason)
    give_back(work, pond, reason)


def give_back(work: Work, pond: Pond, reason: Reason) -> None:
    """Give back the chunks that have not started."""
    waiting = pond.state.chunks
    if waiting:
        pond.state.chunks = []
        for chunk in waiting:
            work.emit(ChunkEnded(pond=pond.key, reason=reason, chunk=chunk))
        work.change(pond)


def start_waiting(work: Work) -> None:
    """Start chunks where nothing else can start: on the settled state, so that no order within the instant matters."""
    for key in list(work.touched):
        pond = work.load(key)
        if pond is not None and pond.state.chunks and _may_start(pond):
            _start(work, pond, pond.state.chunks.pop(0))


def is_of_chunk(pond: Pond, report: Done | Fail) -> bool:
    """Answer whether an attempt is part of the chunk that runs: while one does, every execution is."""
    ripple = pond.state.ripples.get(report.ripple)
    is_current = ripple is not None and ripple.is_busy and ripple.attempt == report.attempt
    return is_current and pond.state.chunk is not None


def on_done(work: Work, pond: Pond, event: Done) -> None:
    """Go on with the Ripples behind this one. How long it took says nothing about a Run, and is not measured."""
    chunk = pond.state.chunk
    assert chunk is not None
    release(pond, event.ripple)
    chunk.left.remove(event.ripple)
    work.change(pond)
    for child in pond.shape.children[event.ripple]:
        if not any(parent in chunk.left for parent in pond.shape.ripples[child]):
            _execute(work, pond, child, is_retry=False)
    if not chunk.left:
        _finish(work, pond, chunk)


def on_fail(work: Work, pond: Pond, event: Fail) -> None:
    """Execute the Ripple again while the chunk has a budget; else give the chunk up. The Pond has not failed by it."""
    chunk = pond.state.chunk
    assert chunk is not None
    release(pond, event.ripple)
    work.change(pond)
    if chunk.immediate_left > 0:
        chunk.immediate_left -= 1
        _execute(work, pond, event.ripple, is_retry=True)
    else:
        _give_up(work, pond, Reason.FAILED, error=event.error)


def _refused(pond: Pond) -> Reason | None:
    state = pond.state
    if state.is_killed:
        return Reason.KILLED
    if state.deploying is not None:
        return Reason.DEPLOYED
    # Without data there is nothing to compute again; and what a reactor publishes is not computed here.
    return Reason.RUN if state.end_f == NEVER or pond.shape.is_fed else None


def _may_start(pond: Pond) -> bool:
    state = pond.state
    return state.chunk is None and not state.active and not state.busy and not state.is_comparing


def _start(work: Work, pond: Pond, name: str) -> None:
    state, shape = pond.state, pond.shape
    state.number += 1
    state.since_chunk = 0
    state.chunk = ChunkState(
        chunk=name,
        number=state.number,
        freshness=state.end_f,
        immediate_left=shape.retries.immediately,
        left=list(shape.order),
    )
    work.emit(
        StartRun(
            pond=pond.key,
            reason=Reason.BACKFILL,
            number=state.number,
            freshness=state.end_f,
            delay=state.end_delay,
            taken={key: source.end_f for key, source in state.sources.items()},
            chunk=name,
        )
    )
    for root in shape.roots:
        _execute(work, pond, root, is_retry=False)
    work.change(pond)


def _execute(work: Work, pond: Pond, name: str, *, is_retry: bool) -> None:
    state, chunk = pond.state, pond.state.chunk
    assert chunk is not None
    ripple = state.ripples[name]
    ripple.is_busy = True
    ripple.attempt += 1
    ripple.since = work.now
    state.busy += 1
    state.busy_roots += not pond.shape.ripples[name]
    work.emit(
        StartRipple(
            pond=pond.key,
            reason=Reason.BACKFILL,
            ripple=name,
            number=chunk.number,
            freshness=chunk.freshness,
            attempt=ripple.attempt,
            is_retry=is_retry,
            is_forced=True,
        )
    )


def _finish(work: Work, pond: Pond, chunk: ChunkState) -> None:
    state = pond.state
    state.chunk = None
    # What a Run that failed has left behind extends data without this chunk: it is computed again.
    for ripple in state.ripples.values():
        if ripple.end_f > state.end_f:
            ripple.start_f = ripple.end_f = state.end_f
            ripple.prev = min(ripple.prev, state.end_f)
            ripple.waits_for = NONE
    work.emit(
        RunFinished(
            pond=pond.key,
            reason=Reason.BACKFILL,
            number=chunk.number,
            freshness=chunk.freshness,
            delay=state.end_delay,
            is_fresher=False,
        )
    )
    work.emit(ChunkEnded(pond=pond.key, reason=Reason.COMPLETED, chunk=chunk.chunk))


def _give_up(work: Work, pond: Pond, reason: Reason, *, error: str = "") -> None:
    state, chunk = pond.state, pond.state.chunk
    assert chunk is not None
    state.chunk = None
    for name, ripple in state.ripples.items():
        if ripple.is_busy:
            release(pond, name)
            work.emit(Cancel(pond=pond.key, reason=reason, ripple=name, attempt=ripple.attempt))
    work.emit(RunDropped(pond=pond.key, reason=reason, numbers=(chunk.number,), freshnesses=(chunk.freshness,)))
    work.emit(ChunkEnded(pond=pond.key, reason=reason, chunk=chunk.chunk, error=error))
    work.change(pond)
