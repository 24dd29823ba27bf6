"""Questions that a worker answers, from asking to the answer: queries, samples, differences, rows that break a rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from pondage.errors import NotFound
from pondage.ledger.act import compaction, questions
from pondage.ledger.act.inspections import submit_breaks, submit_diff
from pondage.ledger.act.plan_basis import planned
from pondage.ledger.act.trials import submit_sample
from pondage.ledger.data import snapshots
from pondage.ledger.tables.environments import environment_id, resolve_pond
from pondage.operations.demand import PondRequest
from pondage.operations.operation import Context, Level, Moment, NotedRequest, Request, operation
from pondage.operations.past import as_of
from pondage.operations.reading import selected
from pondage.operations.uploads import Upload
from pondage.plan.deploy.planner import checked
from pondage.project.sql import tables_or_none
from pondage.views import find
from pondage.views.find import declared_pond
from pondage.views.ponds.checks import breaking
from pondage.views.ponds.diff import DiffView, StateView, comparison, unchanged
from pondage.views.problems import Problem
from pondage.work.diff import TableDifference

ASKED = questions.ASKED
AskingDoor = Literal["query", "api", "page"]
"""Through which door a question comes, for the read log: the command line, a program, the page."""
State = Literal["no worker", "waiting", "starting spark", "running", "done", "failed"]


class AnswerView(msgspec.Struct, frozen=True, kw_only=True):
    """How far a question is; `result` when it is done: rows of a query, tables of a sample. What was answered at once
    has no id."""

    id: str
    kind: str
    state: State
    result: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"null"))
    error: Problem | None = None
    trace: str | None = None
    notes: tuple[str, ...] = ()
    """What is worth knowing of a question when it is asked: which major version a name means."""


class QueryRequest(NotedRequest, frozen=True, kw_only=True):
    """A question in SQL; `as_of` reads the past: a moment in microseconds, or a Run. The read log names the `door`.

    `duckdb` is the embedded engine, in its own SQL, which answers at once; `spark` is a worker.
    """

    sql: Annotated[str, msgspec.Meta(min_length=1, max_length=50_000)]
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100
    as_of: Moment | str | None = None
    door: AskingDoor = "api"
    engine: Literal["spark", "duckdb"] = "spark"


class SampleRequest(Upload, frozen=True, kw_only=True):
    """Code to try on a few published rows: a Pond of the upload, or one of its Ripples."""

    pond: str
    ripple: str | None = None
    rows: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 1_000
    limit: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 20


TOLERANCE = 1e-12
"""What the order of a sum changes in a floating number is no difference, unless somebody asks for it."""


class DiffRequest(NotedRequest, frozen=True, kw_only=True):
    """A Pond as it is now, against a Run of it or an environment; rows are matched by the `keys`.

    Floating numbers that differ by no more than `tolerance`, of themselves or of 1, are the same; 0 compares exactly.
    """

    pond: str
    against: str
    keys: Annotated[Sequence[str], msgspec.Meta(max_length=50)] = ()
    tolerance: Annotated[float, msgspec.Meta(ge=0, le=1)] = TOLERANCE
    limit: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 20


class BreaksRequest(NotedRequest, frozen=True, kw_only=True):
    """A Pond or one of its Ripples, and one rule of it, or all."""

    subject: str
    rule: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 20


class AnswerRequest(Request, frozen=True, kw_only=True):
    """A question that was asked."""

    answer: str


class WaitRequest(AnswerRequest, frozen=True, kw_only=True):
    """Seconds to wait for the end."""

    wait: Annotated[float, msgspec.Meta(ge=0, le=30)] = 0.0


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


def number_of(answer: str) -> int:
    """Answer the number of a question; raises `NotFound` for what is none."""
    digits = answer.removeprefix("q")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 18:
        raise NotFound("there is no such question", code="NO_QUESTION")
    return int(digits)


@operation("POST /v1/queries", Level.DEMAND, QueryRequest, status=202, kind="ask")
def query(context: Context, asked: QueryRequest) -> AnswerView:
    """Ask the published tables something in SQL."""
    seen = None if asked.as_of is None else as_of(context.ledger, context.environment, asked.as_of)
    if asked.engine == "duckdb":
        rows = selected(context, asked.sql, limit=asked.limit, door=asked.door, then=seen)
        return AnswerView(id="", kind="query", state="done", result=msgspec.Raw(msgspec.json.encode(rows)))
    tables = tables_or_none(asked.sql)
    work = questions.submit(
        context.ledger,
        context.environment,
        asked.sql,
        limit=asked.limit,
        as_of=seen,
        tables=tables,
        timeout_s=context.question_s,
        reader=context.reader(asked.door),
    )
    notes = (
        *questions.major_notes(context.ledger, context.environment, tables, as_of=seen),
        *questions.kept_notes(context.ledger, context.environment, tables, seen),
    )
    return AnswerView(id=known_as(work), kind="query", state="waiting", notes=notes)


@operation("POST /v1/samples", Level.OPERATE, SampleRequest, status=202)
def sample(context: Context, asked: SampleRequest) -> AnswerView:
    """Try code on a few published rows; nothing is deployed."""
    ledger, environment = context.ledger, context.environment
    plan, _ = planned(ledger, environment, project=asked.project, ponds=asked.ponds, reactors=asked.reactors)
    work = submit_sample(
        ledger,
        environment,
        declared_pond(checked(plan), asked.pond, asked.ripple or ""),
        archive=asked.archive,
        ripple=asked.ripple or None,
        rows=asked.rows,
        limit=asked.limit,
        timeout_s=context.question_s,
        by=context.by,
    )
    return AnswerView(id=known_as(work), kind="sample", state="waiting")


@operation("POST /v1/diffs", Level.DEMAND, DiffRequest, status=202, kind="ask")
def diff(context: Context, asked: DiffRequest) -> Comparing:
    """Compare what a Pond shows with an older Run of it, or with another environment."""
    ledger, environment = context.ledger, context.environment
    with ledger.reading() as tx:
        found = comparison(tx, ledger, environment, asked.pond, against=asked.against, keys=asked.keys)
        sizes = snapshots.load(tx, [*found.old.values(), *found.new.values()])
    begun = Comparing(pond=found.pond.key, before=found.before, after=found.after)
    if found.is_same:
        view = unchanged(found, {each: row.content.rows for each, row in sizes.items()})
        return msgspec.structs.replace(begun, tables=view.tables)
    with ledger.transaction() as tx:
        work = submit_diff(
            tx,
            ledger,
            environment_id(tx, environment),
            before=found.old,
            after=found.new,
            keys=found.keys,
            tolerance=asked.tolerance,
            limit=asked.limit,
            timeout_s=context.question_s,
        )
    return msgspec.structs.replace(begun, answer=known_as(work))


def diff_view(begun: Comparing, tables: tuple[TableDifference, ...]) -> DiffView:
    """Answer the whole difference."""
    return DiffView(pond=begun.pond, before=begun.before, after=begun.after, tables=tables)


@operation("POST /v1/checks/rows", Level.DEMAND, BreaksRequest, status=202, kind="ask")
def checks_rows(context: Context, asked: BreaksRequest) -> list[Breaking]:
    """Ask for rows that break expectations."""
    ledger, environment = context.ledger, context.environment
    with ledger.reading() as tx:
        wanted = breaking(tx, ledger, environment, subject=asked.subject, rule=asked.rule)
    found: list[Breaking] = []
    for each in wanted:
        with ledger.transaction() as tx:
            work = submit_breaks(
                tx,
                ledger,
                environment_id(tx, environment),
                each.definition,
                each.ripple,
                each.rules,
                each.judged,
                limit=asked.limit,
                timeout_s=context.question_s,
            )
        found.append(
            Breaking(
                table=f"{each.definition.name}.{each.ripple}",
                run=each.judged.run_id,
                is_published=each.judged.snapshot is not None,
                answer=known_as(work),
            )
        )
    return found


@operation("POST /v1/ponds/{pond}/compact", Level.OPERATE, PondRequest, status=202)
def compact(context: Context, asked: PondRequest) -> Compacting:
    """Put the small batches of a Pond into few files."""
    with context.ledger.reading() as tx:
        key = resolve_pond(tx, environment_id(tx, context.environment), asked.pond)
    begun = compaction.begin(context.ledger, context.environment, key, by=context.by)
    tables = (
        CompactingTable(ripple=each.ripple, batches=each.batches, answer=known_as(each.dispatch)) for each in begun
    )
    return Compacting(pond=key, tables=tuple(tables))


@operation("GET /v1/answers/{answer}", Level.DEMAND, WaitRequest)
def answer(context: Context, asked: WaitRequest) -> AnswerView:
    """How far a question is, and its rows; `wait` waits for them."""
    return _look(context, asked.answer)


@operation("DELETE /v1/answers/{answer}", Level.DEMAND, AnswerRequest, kind="look")
def withdraw(context: Context, asked: AnswerRequest) -> AnswerView:
    """Say that nobody waits for an answer any more."""
    if _look(context, asked.answer).state not in ("done", "failed"):
        questions.withdraw(context.ledger, number_of(asked.answer))
    return _look(context, asked.answer)


def _look(context: Context, known: str) -> AnswerView:
    dispatch = number_of(known)
    with context.ledger.reading() as tx:
        row = tx.row(
            """SELECT d.kind AS kind, d.outcome AS outcome,
                      (SELECT p.state FROM executions e JOIN processes p ON p.id = e.process
                       WHERE e.dispatch = d.id AND e.completed_at IS NULL) AS worker,
                      (SELECT max(p.state) FROM processes p WHERE p.dead_at IS NULL AND p.role = q.role) AS others,
                      (SELECT count(*) FROM processes p WHERE p.dead_at IS NULL) AS alive
               FROM dispatches d JOIN queues q ON q.id = d.queue WHERE d.id = :id AND d.environment = :environment
                    AND d.kind IN ('query', 'sample', 'infer', 'compact')""",
            tuple[str, str | None, str | None, str | None, int],
            id=dispatch,
            environment=find.environment_id(tx, context.environment),
        )
    if row is None:
        raise NotFound("there is no such question", code="NO_QUESTION")
    kind, outcome, worker, others, alive = row
    if outcome is None:
        return AnswerView(id=known, kind=kind, state=_waiting(worker, others, alive))
    found = questions.result(context.ledger, dispatch)
    assert found is not None, "what has an outcome has an answer"
    failure = found.failure
    if failure is not None:
        error = Problem(code=failure.code, message=failure.message, place=failure.place)
        return AnswerView(id=known, kind=kind, state="failed", error=error, trace=failure.trace)
    return AnswerView(id=known, kind=kind, state="done", result=msgspec.Raw((found.result or "{}").encode()))


def _waiting(worker: str | None, others: str | None, alive: int) -> State:
    if worker is not None:
        return "starting spark" if worker.startswith("starting spark") else "running"
    if alive == 0:
        return "no worker"
    return "starting spark" if (others or "").startswith("starting spark") else "waiting"
