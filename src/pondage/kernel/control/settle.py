"""A component ends: its writes are committed, its conditions evaluated, its edges decided (R-012 to R-019)."""

from __future__ import annotations

import msgspec

from pondage.expr import ExprError, ExprTimeout, is_true
from pondage.kernel.control.effects import (
    Checkpoint,
    ComponentChanged,
    EdgeFired,
    Effect,
    GlobalWritten,
    InputError,
)
from pondage.kernel.control.events import Settled
from pondage.kernel.control.names import Names, after_key, global_key
from pondage.kernel.control.shape import DataEdge, EdgeKind, PlanComponent
from pondage.kernel.control.state import ComponentRow, EdgeRow, EdgeState, State, VersionRow
from pondage.kernel.control.views import Entries, stored, sub_key, written
from pondage.kernel.control.work import Level, Work

MAX_GLOBAL_BYTES = 64 * 1024
MAX_GLOBAL_DEPTH = 100
"""Lists in lists: how deep Python can follow depends on who asks, so a smaller bound holds for everybody."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How an instance ended, with everything that it wrote."""

    raises: str | None = None
    code: str = ""
    writes: dict[str, object] = {}
    deletes: tuple[str, ...] = ()
    after: dict[str, object] = {}
    plain: dict[str, object] = {}
    """Writes under exactly these keys: what an iterator merged."""
    exported: frozenset[str] = frozenset()


def outcome_of(event: Settled) -> Outcome:
    """Give what an event reports."""
    return Outcome(raises=event.raises, code=event.code, writes=event.writes, deletes=event.deletes, after=event.after)


def settle(work: Work, level: Level, at: int, outcome: Outcome, reason: str) -> None:
    """Give a component its final state OK or ERROR, commit its writes and decide its edges."""
    row, shape = work.touch(level, at), work.shape(level, at)
    outcome = _checked(shape, outcome)
    staged, logs = _staged(work, level, at, row, outcome)
    raises, code = outcome.raises, outcome.code
    truth: dict[int, bool] = {}
    if raises is None:
        raises, code, truth = _conditions(work, level, at, staged, outcome.after)
    if raises is not None:
        message: dict[str, object] = {after_key(shape, "ERROR_MESSAGE"): raises}
        staged, more = _commit(work, level, at, row, staged, message, frozenset())
        logs += more
    row.state = State.OK if raises is None else State.ERROR
    row.cause, row.code = raises or "", code
    row.view_out = stored(work, staged, f"{level.instance(at)}.out", [row.view_in])
    work.log(
        ComponentChanged(
            reason=reason,
            scope=work.scope_of(level, at),
            instance=level.instance(at),
            state=row.state,
            cause=row.cause,
        )
    )
    for log in logs:
        work.log(log)
    _decide_own(work, level, at, row.state, truth, reason)
    ended(work, level, at)
    if row.state is State.ERROR:
        work.is_panicking |= _is_panic(work, level, at, code)


def _is_panic(work: Work, level: Level, at: int, code: str) -> bool:
    """Must the whole run end because of this ERROR (R-100a)?"""
    shape = work.shape(level, at)
    is_allowed = not shape.die_on_error and not shape.is_needed
    has_handler = any(level.plan.control[number].kind is EdgeKind.ERROR
                      for number in level.index.own_edges.get(at, ()))  # fmt: skip
    wants = work.index.plan.config.on_component_error == "abort"
    return wants and not is_allowed and not has_handler and code != "UPSTREAM_ERROR" and not work.run.is_stopped


def _checked(shape: PlanComponent, outcome: Outcome) -> Outcome:
    undeclared = [key for key in outcome.writes if shape.globals is not None and key not in shape.globals]
    counts = ("NB_OK", "NB_ERROR", "FAILED") if shape.iterator else ()
    undeclared += [
        name for name in outcome.after
        if shape.after is not None and name not in shape.after and name not in counts
    ]  # fmt: skip
    large = [key for key, value in (*outcome.writes.items(), *outcome.after.items(), *outcome.plain.items())
             if not _fits(value)]  # fmt: skip
    if not undeclared and not large:
        return outcome
    code = "UNDECLARED_WRITE" if undeclared else "GLOBAL_TOO_LARGE"
    wrong = {*undeclared, *large}
    return msgspec.structs.replace(
        outcome,
        raises=outcome.raises if outcome.raises is not None else f"{code}: {', '.join(sorted(wrong))}",
        code=outcome.code if outcome.raises is not None else code,
        writes={key: value for key, value in outcome.writes.items() if key not in wrong},
        after={key: value for key, value in outcome.after.items() if key not in wrong},
        plain={key: value for key, value in outcome.plain.items() if key not in wrong},
    )


def _fits(value: object) -> bool:
    try:
        return _is_flat(value) and len(msgspec.json.encode(value)) <= MAX_GLOBAL_BYTES
    except (TypeError, ValueError, OverflowError):
        return False


def _is_flat(value: object) -> bool:
    found = [value]
    for _ in range(MAX_GLOBAL_DEPTH):
        inner: list[object] = []
        for one in found:
            inner += one.values() if isinstance(one, dict) else one if isinstance(one, list | tuple) else ()
        if not inner:
            return True
        found = inner
    return False


def _staged(
    work: Work, level: Level, at: int, row: ComponentRow, outcome: Outcome
) -> tuple[Entries, list[GlobalWritten]]:
    shape = work.shape(level, at)
    exported = {key for name in shape.global_export for key in (name, global_key(shape, name))} | outcome.exported
    entries = dict(work.view(row.view_in).entries)
    writes = {after_key(shape, name): value for name, value in outcome.after.items()}
    writes |= {global_key(shape, key): value for key, value in outcome.writes.items()} | outcome.plain
    entries, logs = _commit(work, level, at, row, entries, writes, frozenset(exported))
    for key in (global_key(shape, key) for key in outcome.deletes):
        if key in entries:
            entries, more = _commit(work, level, at, row, entries, {key: _DELETED}, frozenset(exported))
            logs += more
    return entries, logs


_DELETED = object()


def _commit(
    work: Work,
    level: Level,
    at: int,
    row: ComponentRow,
    entries: Entries,
    writes: dict[str, object],
    exported: frozenset[str],
) -> tuple[Entries, list[GlobalWritten]]:
    shape, logs = work.shape(level, at), []
    own = sub_key(level, shape.sub)
    for key, value in writes.items():
        is_deleted = value is _DELETED
        version = VersionRow(
            key=key,
            value=None if is_deleted else value,
            is_deleted=is_deleted,
            writer=level.instance(at),
            clock=(shape.sub, row.counter),
            sub=own,
            is_exported=key in exported,
        )
        name = f"{level.instance(at)}:{key}"
        entries, old = written(work, entries, version, name, owner_if_new=own)
        logs.append(
            GlobalWritten(
                reason="written",
                scope=work.scope_of(level, at),
                key=key,
                value=version.value,
                clock=version.clock,
                writer=version.writer,
                is_deleted=is_deleted,
                old=old,
            )
        )
    return entries, logs


def _conditions(
    work: Work, level: Level, at: int, staged: Entries, after: dict[str, object]
) -> tuple[str | None, str, dict[int, bool]]:
    truth: dict[int, bool] = {}
    names = Names(work, level, at, staged, after)
    for number in level.index.own_edges.get(at, ()):
        edge = level.plan.control[number]
        if edge.kind is not EdgeKind.IF or edge.expression is None:
            continue
        try:
            truth[number] = is_true(edge.expression, names, work.run.steps)
        except ExprTimeout:
            limit = work.index.plan.config.expr_timeout_ms
            return f"ExprTimeout: {edge.label}: expression exceeded {limit} ms", "ExprTimeout", {}
        except ExprError as error:
            return f"ExprError: {edge.label}: {error}", "ExprError", {}
    return None, "", truth


def _decide_own(work: Work, level: Level, at: int, state: State, truth: dict[int, bool], reason: str) -> None:
    has_forked = False
    instance = level.instance(at)
    for number in level.index.own_edges.get(at, ()):
        edge = level.plan.control[number]
        wants, cause = _wants(edge.kind, state, truth.get(number, False), instance, edge.label)
        decide(work, level, number, wants, cause, reason)
        has_forked |= wants and edge.kind is EdgeKind.PARALLELISE
    if has_forked:
        work.log(
            Checkpoint(
                reason="fork",
                kind="fork",
                name=f"fork:{instance}",
                status=State.OK,
                scope=work.scope_of(level, at),
                members=(instance,),
                view=work.component(level, at).view_out,
            )
        )


def _wants(kind: EdgeKind, state: State, truth: bool, instance: str, label: str) -> tuple[bool, str]:
    if kind is EdgeKind.ITERATOR_COMPLETE:
        return True, ""
    if kind is EdgeKind.ERROR:
        return state is State.ERROR, f"EDGE_NOT_FIRED({instance},{label})"
    if state is State.ERROR:
        return False, f"UPSTREAM_ERROR({instance})"
    if kind is EdgeKind.IF:
        return truth, f"CONDITION_FALSE({instance},{label})"
    return True, ""


def decide(work: Work, level: Level, number: int, fires: bool, cause: str, reason: str, source: str = "") -> None:
    """Fire a control edge or declare it dead; its target is looked at again."""
    edge = level.plan.control[number]
    key = f"{level.key}/{number}"
    if work.edge(level, number).state is not EdgeState.PENDING:
        return
    work.keep("edge", key, EdgeRow(state=EdgeState.FIRED if fires else EdgeState.DEAD, cause="" if fires else cause))
    target = work.touch(level, edge.target)
    target.undecided -= 1
    target.has_fired |= fires
    if fires:
        work.log(
            EdgeFired(
                reason=reason,
                scope=work.scope_of(level, edge.target if edge.kind is EdgeKind.SYNCHRONISE else max(edge.source, 0))
                if edge.source >= 0
                else level.scope_key(0),
                source=source or level.instance(edge.source),
                label=edge.label,
                target=level.instance(edge.target),
            )
        )
    if target.state is State.WAIT:
        work.queue("dead", level, edge.target)
        if target.has_fired:
            work.queue_ready(level, edge.target)


def kill_edges(work: Work, level: Level, at: int, reason: str) -> None:
    """Declare every edge that a skipped component would decide dead."""
    for number in level.index.own_edges.get(at, ()):
        decide(work, level, number, False, f"UPSTREAM_SKIPPED({level.instance(at)})", reason)


def ended(work: Work, level: Level, at: int) -> None:
    """Tell everybody who waits for a component that it is final: consumers, sub-job, whoever it handles errors for."""
    row, shape = work.component(level, at), work.shape(level, at)
    for data in level.index.feeds.get(at, ()):
        _deliver(work, level, at, row, data)
    sub = work.touch_sub(level, shape.sub)
    sub.open -= 1
    if row.state is not State.SKIPPED:
        sub.ran += 1
    if row.state is State.ERROR:
        sub.errors = (*sub.errors, at)
    if sub.open == 0:
        work.queue("sub", level, shape.sub)
    for waiting in level.index.capturers.get(at, ()):
        if work.sub(level, waiting).open == 0:
            work.queue("sub", level, waiting)


def _deliver(work: Work, level: Level, at: int, row: ComponentRow, data: DataEdge) -> None:
    target, port, is_stream = data.target, data.target_port, data.is_stream
    consumer = work.touch(level, target)
    known = consumer.ports.get(port)
    if known is None:
        return
    has_come = row.state is (State.ERROR if data.is_panic else State.OK) and data.source_port not in row.absent
    shape = next(one for one in work.shape(level, target).ports if one.name == port)
    if not is_stream:
        known.waiting -= 1
        known.arrived += has_come
    elif row.attempt == 0:
        # Skipped before it started: a stream's consumers never heard of it.
        known.waiting -= 1
    elif row.state is State.ERROR and consumer.state is State.RUNNING:
        work.log(_input_error(level, target, port))
    is_fatal = row.state is State.ERROR and work.shape(level, at).die_on_error and not data.is_panic
    # Whoever reads a stream already is told; whoever has not begun will never have all of it.
    is_told = is_stream and row.attempt and consumer.state is not State.WAIT
    if shape.required and not has_come and not is_told:
        known.lost |= is_fatal or not shape.multi or (known.waiting == 0 and known.arrived == 0)
    if consumer.state is State.WAIT:
        if known.lost:
            work.queue("dead", level, target)
        work.queue_ready(level, target)


def _input_error(level: Level, target: int, port: str) -> Effect:
    return InputError(reason="UPSTREAM_ERROR", instance=level.instance(target), port=port, code="UPSTREAM_ERROR")
