"""Questions that a worker answers, from asking to the answer: queries, samples, differences, rows that break a rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from pondage.errors import NotFound
from pondage.ledger.act import questions
from pondage.ledger.act.as_of import AsOf, as_of_run
from pondage.ledger.act.inspections import submit_breaks, submit_diff
from pondage.ledger.commit import compaction
from pondage.ledger.data import snapshots
from pondage.ledger.database.driver import number, text, text_or_none
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables.environments import environment_id, resolve_pond
from pondage.ledger.tables.history import Caller
from pondage.views import find
from pondage.views.ponds.checks import breaking
from pondage.views.ponds.diff import DiffView, StateView, TableDifference, comparison, unchanged
from pondage.views.problems import Problem

State = Literal["no worker", "waiting", "starting spark", "running", "done", "failed"]


class AnswerView(msgspec.Struct, frozen=True, kw_only=True):
    """How far a question is; `result` when it is done: rows of a query, tables of a sample."""

    id: str
    kind: str
    state: State
    result: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"null"))
    error: Problem | None = None
    trace: str | None = None


class Comparing(msgspec.Struct, frozen=True, kw_only=True):
    """Two states of a Pond that are compared: `tables` when nobody has to read them, else the question's id."""

    pond: str
    before: StateView
    after: StateView
    tables: tuple[TableDifference, ...] | None = None
    answer: str | None = None


class Breaking(msgspec.Struct, frozen=True, kw_only=True):
    """A question for rows that break the rules of one table."""

    table: str
    run: str
    is_published: bool
    answer: str


class CompactingTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table whose batches are put together."""

    ripple: str
    batches: int
    answer: str


class Compacting(msgspec.Struct, frozen=True, kw_only=True):
    """A Pond whose small batches are put together; nothing when it has none."""

    pond: str
    tables: tuple[CompactingTable, ...]


def known_as(dispatch: int) -> str:
    """Answer how a question is called by whoever has the ledger."""
    return f"q{dispatch}"


def as_of(ledger: Ledger, environment: str, given: int | str) -> AsOf:
    """Answer what a question about the past sees: a moment, or a Run by its id; raises `NotFound`."""
    if isinstance(given, int):
        return AsOf(at=given)
    with ledger.reading() as tx:
        run = find.run_id(tx, find.environment_id(tx, environment), given)
        if run is None:
            pond, _, number = given.partition("#")
            if number.isdecimal():
                raise NotFound(f"there is no Run {given[:63]!r}", hint=f"pondage runs {pond[:63]}", code="NO_RUN")
            raise NotFound(
                f"{given[:63]!r} is neither a time nor a Run",
                hint="write 2h, 2026-05-04T06:00, sales#12 or the id of a Run (pondage runs)",
                code="NO_RUN",
            )
        return as_of_run(tx, run)


def begin_diff(
    ledger: Ledger, environment: str, pond: str, *, against: str, keys: Sequence[str], limit: int
) -> Comparing:
    """Find two states of a Pond; when they are not the same anyway, ask a worker what differs."""
    with ledger.reading() as tx:
        found = comparison(tx, ledger, environment, pond, against=against, keys=keys)
        sizes = snapshots.load(tx, [*found.old.values(), *found.new.values()])
    begun = Comparing(pond=found.pond.key, before=found.before, after=found.after)
    if found.is_same:
        view = unchanged(found, {each: row.content.rows for each, row in sizes.items()})
        return msgspec.structs.replace(begun, tables=view.tables)
    with ledger.transaction() as tx:
        asked = submit_diff(
            tx,
            ledger,
            environment_id(tx, environment),
            before=found.old,
            after=found.new,
            keys=found.keys,
            limit=limit,
        )
    return msgspec.structs.replace(begun, answer=known_as(asked))


def diff_view(begun: Comparing, tables: tuple[TableDifference, ...]) -> DiffView:
    """Answer the whole difference."""
    return DiffView(pond=begun.pond, before=begun.before, after=begun.after, tables=tables)


def begin_breaks(ledger: Ledger, environment: str, subject: str, *, rule: str | None, limit: int) -> list[Breaking]:
    """Ask a worker for rows that break rules, a question for each table."""
    with ledger.reading() as tx:
        wanted = breaking(tx, ledger, environment, subject=subject, rule=rule)
    found: list[Breaking] = []
    for each in wanted:
        with ledger.transaction() as tx:
            asked = submit_breaks(
                tx,
                ledger,
                environment_id(tx, environment),
                each.definition,
                each.ripple,
                each.rules,
                each.judged,
                limit=limit,
            )
        found.append(
            Breaking(
                table=f"{each.definition.name}.{each.ripple}",
                run=each.judged.run_id,
                is_published=each.judged.snapshot is not None,
                answer=known_as(asked),
            )
        )
    return found


def begin_compaction(ledger: Ledger, environment: str, pond: str, *, by: Caller) -> Compacting:
    """Ask for the small batches of a Pond to be put together."""
    with ledger.reading() as tx:
        key = resolve_pond(tx, environment_id(tx, environment), pond)
    begun = compaction.begin(ledger, environment, key, by=by)
    tables = (
        CompactingTable(ripple=each.ripple, batches=each.batches, answer=known_as(each.dispatch)) for each in begun
    )
    return Compacting(pond=key, tables=tuple(tables))


def question(ledger: Ledger, environment: str, dispatch: int, known: str) -> AnswerView | None:
    """Answer how far a question is; None when there is none of this id here."""
    with ledger.reading() as tx:
        row = tx.row(
            """SELECT d.kind AS kind, d.outcome AS outcome,
                      (SELECT p.state FROM executions e JOIN processes p ON p.id = e.process
                       WHERE e.dispatch = d.id AND e.completed_at IS NULL) AS worker,
                      (SELECT max(p.state) FROM processes p WHERE p.dead_at IS NULL AND p.role = 'worker') AS others,
                      (SELECT count(*) FROM processes p WHERE p.dead_at IS NULL) AS alive
               FROM dispatches d WHERE d.id = :id AND d.environment = :environment
                    AND d.kind IN ('query', 'sample', 'infer', 'compact')""",
            id=dispatch,
            environment=find.environment_id(tx, environment),
        )
    if row is None:
        return None
    kind = text(row, "kind")
    if row["outcome"] is None:
        state = _waiting(text_or_none(row, "worker"), text_or_none(row, "others"), number(row, "alive"))
        return AnswerView(id=known, kind=kind, state=state)
    answer = questions.result(ledger, dispatch)
    assert answer is not None, "what has an outcome has an answer"
    failure = answer.failure
    if failure is not None:
        error = Problem(code=failure.code, message=failure.message, place=failure.place)
        return AnswerView(id=known, kind=kind, state="failed", error=error, trace=failure.trace)
    return AnswerView(id=known, kind=kind, state="done", result=msgspec.Raw((answer.result or "{}").encode()))


def _waiting(worker: str | None, others: str | None, alive: int) -> State:
    if worker is not None:
        return "starting spark" if worker.startswith("starting spark") else "running"
    if alive == 0:
        return "no worker"
    return "starting spark" if (others or "").startswith("starting spark") else "waiting"
