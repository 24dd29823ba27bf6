"""`step`: advance a run by everything that happened in one instant."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pondage.kernel.control import iterate, restoring
from pondage.kernel.control.advance import abort, advance, cancel_running, end, open_components, skip
from pondage.kernel.control.effects import Cancel, Effect, JobChanged, Signalled, StopInstance, Timer
from pondage.kernel.control.events import Event, GraceOver, Kill, Restore, Settled, Start, Stop, Timeout, Unfold
from pondage.kernel.control.groups import is_inner, last_member, settle_all
from pondage.kernel.control.index import Index
from pondage.kernel.control.rows import Rows
from pondage.kernel.control.settle import Outcome, outcome_of, settle
from pondage.kernel.control.starting import dispatch
from pondage.kernel.control.state import IteratorRow, JobState, LevelRow, State
from pondage.kernel.control.work import Level, Work

GRACE_S = 30
EXPR_STEP_MS = 0.01


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What a step did: rows to write (and no others), what to carry out, and how much was looked at."""

    changed: tuple[tuple[str, str], ...]
    effects: tuple[Effect, ...]
    visits: int = 0


def step(index: Index, rows: Rows, events: Iterable[Event], now: int) -> Step:
    """Advance a run in place by these events, all of the instant `now`.

    Deterministic and total: the result depends only on the arguments and no event raises; the order in which the events
    are given does not matter. Each is applied and worked off before the next. When the host raises, the rows are half
    advanced and must be thrown away.
    """
    work = Work(rows, index, now)
    for event in _in_order(work, list(events)):
        _apply(work, event)
        if work.run.state is JobState.RUNNING:
            advance(work)
    return Step(changed=tuple(work.changed), effects=tuple(work.effects), visits=work.visits)


def _in_order(work: Work, events: list[Event]) -> list[Event]:
    restores = [event for event in events if isinstance(event, Restore)]
    first = [event for event in events if isinstance(event, Start)]
    if first and restores:
        # One event of its own kind: the run begins with what it takes over.
        work.restore = restores[0]
    signals = [event for event in events if isinstance(event, Kill)]
    stops = sorted((event for event in events if isinstance(event, Stop)), key=lambda event: event.instance or "")
    settled = [event for event in events if isinstance(event, Settled)]
    places = {id(event): work.locate(event.instance) for event in settled} if settled else {}
    settled.sort(key=lambda event: (_rank(places[id(event)]), event.instance, event.attempt))
    timers = [event for event in events if isinstance(event, GraceOver | Timeout)]
    timers.sort(key=lambda event: (isinstance(event, Timeout), getattr(event, "instance", None) or ""))
    unfolds = sorted((event for event in events if isinstance(event, Unfold)), key=lambda event: event.instance)
    return [*first[:1], *unfolds, *signals, *stops, *settled, *timers]


def _rank(place: tuple[Level, int] | None) -> tuple[int, ...]:
    if place is None:
        return ()
    level, at = place
    return (*level.rank, -1, level.plan.components[at].sub, at)


def _apply(work: Work, event: Event) -> None:
    match event:
        case Start():
            _on_start(work, event)
        case _ if work.run.state is not JobState.RUNNING:
            return
        case Settled():
            _on_settled(work, event)
        case Kill():
            _on_kill(work)
        case Stop():
            _on_stop(work, event)
        case GraceOver():
            _on_grace_over(work, event)
        case Timeout():
            abort(work, "TIMEOUT")
        case Unfold():
            found = work.locate(event.instance)
            if found is not None:
                work.queue("iterator", *found)
        case _:
            return


def _on_start(work: Work, event: Start) -> None:
    if work.run.state is not None:
        return
    run, plan = work.touch_run(), work.index.plan
    run.state, run.second = JobState.RUNNING, event.second
    run.steps = int(plan.config.expr_timeout_ms / EXPR_STEP_MS) if event.steps is None else event.steps
    run.context = {**plan.context, **event.context}
    work.log(JobChanged(reason="started", state=JobState.RUNNING))
    if plan.config.timeout_s is not None:
        at = work.now + int(plan.config.timeout_s * run.second)
        work.log(Timer(reason="timeout_s", at=at, event=Timeout()))
    job = work.open_level("", LevelRow(open=len(plan.subs), open_main=len(plan.subs)))
    if work.restore is not None:
        restoring.restore(work, job, work.restore)
    iterate.enter(work, job)


def _on_settled(work: Work, event: Settled) -> None:
    found = work.locate(event.instance)
    if found is None:
        return
    level, at = found
    row, shape = work.component(level, at), work.shape(level, at)
    if row.state is not State.RUNNING or row.attempt != event.attempt or work.iterator(level, at) is not None:
        return
    if row.is_left or is_inner(work, level, at):
        return
    if work.run.is_killed and (event.is_left or (event.is_cut and not row.is_stopping)):
        # What it gave is not all of it. It stays RUNNING, as after an abort, so that a resume executes it.
        work.touch(level, at).is_left = True
        work.touch_run().running -= 1
        return
    is_final = event.code in ("STOPPED", "UPSTREAM_ERROR") or row.is_stopping or work.run.is_killed
    if event.raises is not None and event.attempt <= shape.retries and not is_final and not event.member:
        work.touch(level, at).attempt += 1
        dispatch(work, level, at, f"retry after: {event.raises}")
        return
    work.touch_run().running -= 1
    if shape.iterator is not None and event.raises is None:
        _on_items(work, level, at, event)
        return
    outcome = outcome_of(event)
    if row.is_stopping and outcome.raises is not None:
        outcome = msgspec.structs.replace(outcome, code="STOPPED")
    settle_all(work, level, at, outcome, f"attempt {event.attempt}", event.member)


def _on_items(work: Work, level: Level, at: int, event: Settled) -> None:
    items, shape = list(event.items or []), iterate.shape_of(work, level, at)
    if shape.mode != "while" and len(items) > shape.max_iterations:
        raises = f"FANOUT_LIMIT: {len(items)} elements, at most {shape.max_iterations}"
        settle(work, level, at, Outcome(raises=raises, code="FANOUT_LIMIT"), "FANOUT_LIMIT")
        return
    row = IteratorRow(writes=event.writes, deletes=event.deletes, after=event.after)
    iterate.begin(work, level, at, row, items)


def _on_kill(work: Work) -> None:
    run = work.touch_run()
    work.log(Signalled(reason="Kill"))
    if run.is_killed:
        _end_without_checkpoint(work)
        return
    run.is_killed = True
    for level, at in open_components(work, State.RUNNING):
        if work.iterator(level, at) is None and not is_inner(work, level, at):
            instance, attempt = level.instance(at), work.component(level, at).attempt
            work.log(StopInstance(reason="Kill", instance=instance, attempt=attempt, is_last=True))
    work.log(Timer(reason="Kill", at=work.now + GRACE_S * run.second, event=GraceOver()))


def _end_without_checkpoint(work: Work) -> None:
    cancel_running(work, "KILLED_WITHOUT_CHECKPOINT")
    end(work, JobState.ABORTED, "KILLED_WITHOUT_CHECKPOINT")


def _on_stop(work: Work, event: Stop) -> None:
    if event.instance is None:
        work.touch_run().is_stopped = True
        for level, at in open_components(work, State.RUNNING):
            _stop(work, level, at)
        for level, at in open_components(work, State.WAIT):
            skip(work, level, at, "ABORTED(STOPPED)")
        return
    found = work.locate(event.instance)
    if found is None:
        return
    if work.state(*found) is State.WAIT:
        skip(work, *found, "ABORTED(STOPPED)")
    else:
        _stop(work, *found)


def _stop(work: Work, level: Level, at: int) -> None:
    at = last_member(work, level, at)
    row = work.component(level, at)
    if row.state is not State.RUNNING or row.is_stopping:
        return
    if (iterator := work.iterator(level, at)) is not None:
        iterator.has_ended = True
        work.keep("iterator", level.instance(at), iterator)
        work.queue("iterator", level, at)
        return
    work.touch(level, at).is_stopping = True
    instance = level.instance(at)
    work.log(StopInstance(reason="Stop", instance=instance, attempt=row.attempt))
    grace = GraceOver(instance=instance)
    work.log(Timer(reason="Stop", at=work.now + GRACE_S * work.run.second, event=grace))


def _on_grace_over(work: Work, event: GraceOver) -> None:
    if event.instance is None:
        if work.run.is_killed:
            _end_without_checkpoint(work)
        return
    found = work.locate(event.instance)
    if found is None or not work.component(*found).is_stopping or work.state(*found) is not State.RUNNING:
        return
    level, at = found
    work.log(Cancel(reason="STOPPED", instance=event.instance, attempt=work.component(level, at).attempt))
    work.touch_run().running -= 1
    outcome = Outcome(raises="STOPPED: it did not close its outputs in 30 s", code="STOPPED")
    settle_all(work, level, at, outcome, "STOPPED")
