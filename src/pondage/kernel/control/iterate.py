"""Iterators: elements become iterations, each a level of its own, whose globals are merged (R-127 to R-142)."""

from __future__ import annotations

from pondage.expr import ExprError, ExprTimeout, is_true
from pondage.kernel.control.effects import Checkpoint, IterationsHalted, IteratorChanged, Unfold
from pondage.kernel.control.folding import CURRENT_ITERATION, CURRENT_VALUE, contributed, folded
from pondage.kernel.control.names import Names, after_key, global_key
from pondage.kernel.control.settle import Outcome, decide, settle
from pondage.kernel.control.shape import EdgeKind, IteratorShape
from pondage.kernel.control.state import ElementsRow, Entry, IteratorRow, LevelRow, State, VersionRow
from pondage.kernel.control.verdicts import level_verdict
from pondage.kernel.control.views import level_result, merged, stored, sub_key, written
from pondage.kernel.control.work import Level, Work

CHUNK = 1_000
"""So many iterations one step opens at most: a host's transaction stays short."""


def shape_of(work: Work, level: Level, at: int) -> IteratorShape:
    """Give how an iterator repeats its body."""
    shape = work.shape(level, at).iterator
    assert shape is not None
    return shape


def begin(
    work: Work, level: Level, at: int, row: IteratorRow, items: list[object], *, is_restored: bool = False
) -> None:
    """Take up the elements that an iterator found; its own writes are seen by the body at once."""
    shape, component = shape_of(work, level, at), work.component(level, at)
    row.total = -1 if shape.mode == "while" else len(items)
    entries = dict(work.view(component.view_in).entries)
    plan = work.shape(level, at)
    own = sub_key(level, plan.sub)
    writes = {after_key(plan, name): value for name, value in row.after.items()}
    for key, value in (writes | {global_key(plan, key): value for key, value in row.writes.items()}).items():
        version = VersionRow(
            key=key,
            value=value,
            writer=level.instance(at),
            clock=(plan.sub, component.counter),
            sub=own,
            is_exported=key in plan.global_export,
        )
        entries, _ = written(work, entries, version, f"{level.instance(at)}:{key}", owner_if_new=own)
    row.view = stored(work, entries, f"{level.instance(at)}.body", [component.view_in])
    if shape.mode != "while":
        work.keep("elements", level.instance(at), ElementsRow(items=items))
    work.keep("iterator", level.instance(at), row)
    log_phase(work, level, at, "DISPATCHING", total=row.total, is_restored=is_restored)
    work.queue("iterator", level, at)


def log_phase(work: Work, level: Level, at: int, phase: str, *, total: int = -1, is_restored: bool = False) -> None:
    """Say that an iterator went to another phase."""
    work.log(
        IteratorChanged(
            reason=phase,
            scope=work.scope_of(level, at),
            instance=level.instance(at),
            phase=phase,
            total=total,
            is_restored=is_restored,
        )
    )


def turn(work: Work, level: Level, at: int) -> str | None:
    """Close what ended, dispatch what may start, and settle the iterator after the last one.

    Gives a code when the whole run must be aborted.
    """
    row = work.iterator(level, at)
    if row is None or row.is_done or work.state(level, at) is not State.RUNNING:
        return None
    instance = level.instance(at)
    for key in work.woken(instance):
        iteration = work.level(key)
        if iteration is not None and not iteration.row.is_over:
            _look(work, level, at, row, iteration)
    code = None if work.run.is_killed else _dispatch(work, level, at, row)
    is_exhausted = row.has_ended or (row.total >= 0 and row.next > row.total)
    if code is None and row.running == 0 and is_exhausted:
        _finish(work, level, at, row)
    return code


# ---------------------------------------------------------------------------------------------------- iterations


def _look(work: Work, level: Level, at: int, row: IteratorRow, iteration: Level) -> None:
    state = iteration.row
    if state.verdict is State.WAIT and state.open_main == 0:
        found = level_verdict(work, iteration)
        if found is None:
            return
        state.verdict = found
        work.keep("level", iteration.key, state)
        _decide(work, iteration, found)
        work.wake(instance=level.instance(at), key=iteration.key)
        work.queue("iterator", level, at)
    elif state.verdict is not State.WAIT and state.open == 0:
        _close(work, level, at, row, iteration)


def _decide(work: Work, iteration: Level, found: State) -> None:
    for number in iteration.index.iteration_edges:
        kind = iteration.plan.control[number].kind
        fires = (kind is EdgeKind.ITERATION_OK and found is State.OK) or (
            kind is EdgeKind.ITERATION_ERROR and found is State.ERROR
        )
        cause = f"ITERATION_{found.value}"
        decide(work, iteration, number, fires, cause, cause, source=iteration.name)


def _close(work: Work, level: Level, at: int, row: IteratorRow, iteration: Level) -> None:
    state, number = iteration.row, iteration.row.numbers[-1]
    epilogues = level_verdict(work, iteration, epilogues=True)
    if epilogues is State.ERROR:
        sub = work.touch_sub(level, work.shape(level, at).sub)
        sub.failed_iterations = (*sub.failed_iterations, iteration.name)
    state.is_over = True
    state.result = stored(work, level_result(work, iteration), f"level:{iteration.key}", [state.view])
    work.keep("level", iteration.key, state)
    work.log(
        Checkpoint(
            reason="final",
            kind="iteration",
            name=iteration.name,
            status=State.ERROR if state.verdict is State.ERROR else state.verdict,
            scope=iteration.scope_key(0),
            members=tuple(iteration.instance(member) for member in range(len(iteration.plan.components))),
            view=state.result,
        )
    )
    row.running -= 1
    work.keep("iterator", level.instance(at), row)
    if state.verdict is State.ERROR:
        row.failed = tuple(sorted((*row.failed, number)))
        _halt(work, level, at, row)
    else:
        row.succeeded += 1
        hand_on(work, level, at, row, iteration)


def _halt(work: Work, level: Level, at: int, row: IteratorRow) -> None:
    shape = shape_of(work, level, at)
    if not shape.halts or row.has_ended or not _is_too_much(shape, row):
        return
    row.has_ended = True
    if row.next <= row.total:
        work.log(
            IterationsHalted(
                reason="ITERATION_HALTED",
                scope=work.scope_of(level, at),
                iterator=work.shape(level, at).name,
                suffix=level.suffix,
                first=row.next,
                last=row.total,
            )
        )


def _is_too_much(shape: IteratorShape, row: IteratorRow) -> bool:
    failed = len(row.failed)
    if shape.tolerate is not None:
        return failed > shape.tolerate
    if shape.tolerate_percent is not None:
        total = row.total if row.total >= 0 else row.next - 1
        return failed * 100 > shape.tolerate_percent * total
    return shape.halts and failed > 0


def hand_on(work: Work, level: Level, at: int, row: IteratorRow, iteration: Level) -> None:
    """In override mode one iteration after the other sees what its predecessors wrote."""
    shape = shape_of(work, level, at)
    if shape.globals != "override" or shape.parallel > 1:
        return
    shared, own = f"it:{level.instance(at)}", f"{iteration.key}/"
    news = {
        key: Entry(entry.version, shared if entry.owner.startswith(own) else entry.owner, entry.ancestors)
        for key, entry in contributed(work, iteration).items()
    }
    name = f"{level.instance(at)}.body{iteration.row.numbers[-1]}"
    row.view = stored(work, merged(work, [work.view(row.view).entries, news]), name, [row.view])


# ------------------------------------------------------------------------------------------------------ dispatch


def _dispatch(work: Work, level: Level, at: int, row: IteratorRow) -> str | None:
    shape = shape_of(work, level, at)
    while row.running < shape.parallel and not row.has_ended:
        if row.total >= 0 and row.next > row.total:
            break
        if work.opened >= CHUNK:
            _go_on_later(work, level.instance(at), row)
            break
        if row.total < 0:
            code = _ask(work, level, at, row, shape)
            if code is not None or _has_ended(row):
                return code
        if work.level(f"{level.instance(at)}#{row.next}") is not None:
            row.next += 1  # taken over from the run before
            continue
        _open(work, level, at, row)
    return None


def _go_on_later(work: Work, instance: str, row: IteratorRow) -> None:
    if instance not in work.unfolding:
        work.unfolding.add(instance)
        work.log(Unfold(reason=f"{CHUNK} iterations in one step", instance=instance, cursor=row.next))


def _has_ended(row: IteratorRow) -> bool:
    return row.has_ended


def _ask(work: Work, level: Level, at: int, row: IteratorRow, shape: IteratorShape) -> str | None:
    """Evaluate the condition of a `while` iterator for the next turn."""
    work.keep("iterator", level.instance(at), row)
    row.evaluations += 1
    if row.evaluations > 1 + work.index.plan.config.max_condition_reevaluations:
        return "CONDITION_REEVALUATION_LIMIT"
    names = Names(work, level, at, work.view(row.view).entries, {**row.after, "iteration": row.next})
    try:
        is_wanted = shape.condition is not None and is_true(shape.condition, names, work.run.steps)
    except ExprTimeout:
        limit = work.index.plan.config.expr_timeout_ms
        row.error, row.code = f"ExprTimeout: condition: expression exceeded {limit} ms", "ExprTimeout"
        is_wanted = False
    except ExprError as error:
        row.error, row.code = f"ExprError: condition: {error}", "ExprError"
        is_wanted = False
    if is_wanted and row.next > shape.max_iterations:
        row.error, row.code = f"FANOUT_LIMIT: more than {shape.max_iterations} iterations", "FANOUT_LIMIT"
        is_wanted = False
    row.has_ended = not is_wanted
    return None


def _open(work: Work, level: Level, at: int, row: IteratorRow) -> None:
    number, plan = row.next, work.shape(level, at)
    row.next += 1
    row.running += 1
    work.opened += 1
    work.keep("iterator", level.instance(at), row)
    key = f"{level.instance(at)}#{number}"
    body = level.index.bodies[plan.name].plan
    value = work.elements(level, at)[number - 1] if row.total >= 0 else {"iteration": number}
    entries = dict(work.view(row.view).entries)
    for name, current in ((CURRENT_ITERATION, number), (CURRENT_VALUE, value)):
        version = VersionRow(
            key=f"{plan.name}__{name}",
            value=current,
            writer=level.instance(at),
            clock=(plan.sub, work.component(level, at).counter),
            sub=sub_key(level, plan.sub),
        )
        entries, _ = written(work, entries, version, f"{key}:{name}", owner_if_new=sub_key(level, plan.sub))
    iteration = work.open_level(
        key,
        LevelRow(
            path=(*level.row.path, plan.name),
            numbers=(*level.row.numbers, number),
            view=stored(work, entries, f"{key}.in", []),
            open=len(body.subs),
            open_main=sum(not sub.is_epilogue for sub in body.subs),
        ),
    )
    enter(work, iteration)
    if not body.subs or iteration.row.open_main == 0:
        work.wake(instance=level.instance(at), key=key)
        work.queue("iterator", level, at)


def enter(work: Work, level: Level) -> None:
    """Have every component that may start by itself looked at."""
    for at, shape in enumerate(level.plan.components):
        if shape.startable:
            work.queue_ready(level, at)


# ----------------------------------------------------------------------------------------------------------- end


def _finish(work: Work, level: Level, at: int, row: IteratorRow) -> None:
    shape, instance = shape_of(work, level, at), level.instance(at)
    row.is_done = True
    work.keep("iterator", instance, row)
    log_phase(work, level, at, "ITER_DONE")
    kept, exported = folded(work, level, at, row, shape.globals)
    raises: str | None = None
    code = row.code
    if row.error:
        raises = row.error
    elif row.failed and _is_too_much(shape, row):
        raises, code = f"iteration {row.failed[0]} failed", "ITERATION_FAILED"
    counts: dict[str, object] = {
        "NB_OK": row.succeeded,
        "NB_ERROR": len(row.failed),
        "FAILED": list(row.failed),
    }
    outcome = Outcome(
        raises=raises,
        code=code,
        writes=row.writes,
        deletes=row.deletes,
        after={**row.after, **counts},
        plain=kept,
        exported=exported,
    )
    settle(work, level, at, outcome, "iterations done")
