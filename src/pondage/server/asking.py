"""Routes for questions: a worker answers them, so each is accepted first and its answer is fetched or waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import anyio
import msgspec
from anyio.to_thread import run_sync

from pondage.ledger import history, queries
from pondage.ledger.as_of import AsOf, as_of_run
from pondage.ledger.driver import Transaction, number, text, text_or_none
from pondage.ledger.trials import submit_sample
from pondage.plan.planning import checked
from pondage.server.demanding import Plain
from pondage.server.deploying import received
from pondage.server.levels import Level
from pondage.server.problems import Problem, Refused
from pondage.server.table import Call, Moment, Route
from pondage.server.uploads import LARGE, Upload
from pondage.views import find
from pondage.views.declared import declared_pond

OPEN_AT_MOST = 50
LOOK_EVERY_S = 0.2
State = Literal["no worker", "waiting", "starting spark", "running", "done", "failed"]


class QueryBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question in SQL; `as_of` reads the past: a moment in microseconds, or a Run."""

    sql: Annotated[str, msgspec.Meta(min_length=1, max_length=50_000)]
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100
    as_of: Moment | str | None = None


class SampleBody(Upload, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Code to try on a few published rows: a Pond of the upload, or one of its Ripples."""

    pond: str
    ripple: str | None = None
    rows: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 1_000
    limit: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 20


class WaitQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seconds to wait for the end."""

    wait: Annotated[float, msgspec.Meta(ge=0, le=30)] = 0.0


class AnswerView(msgspec.Struct, frozen=True, kw_only=True):
    """How far a question is; `result` when it is done: rows of a query, tables of a sample."""

    id: str
    kind: str
    state: State
    result: msgspec.Raw | None = None
    error: Problem | None = None


def _query(call: Call) -> AnswerView:
    sent = call.sent(QueryBody)

    def submit() -> int:
        as_of = None if sent.as_of is None else _as_of(call, sent.as_of)
        return queries.submit(call.ledger, call.environment, sent.sql, limit=sent.limit, as_of=as_of)

    return _accepted(call, "query", submit)


def _as_of(call: Call, given: int | str) -> AsOf:
    if isinstance(given, int):
        return AsOf(at=given)
    with call.ledger.reading() as tx:
        run = find.run_id(tx, find.environment_id(tx, call.environment), given)
        if run is None:
            raise Refused(404, "NO_RUN", f"there is no Run {given[:63]!r}", place="$.as_of")
        return as_of_run(tx, run)


def _sample(call: Call) -> AnswerView:
    sent = call.sent(SampleBody)
    definition = declared_pond(checked(received(call, sent)[0]), sent.pond, sent.ripple or "")

    def submit() -> int:
        return submit_sample(
            call.ledger,
            call.environment,
            definition,
            archive=sent.archive,
            ripple=sent.ripple,
            rows=sent.rows,
            limit=sent.limit,
        )

    view = _accepted(call, "sample", submit)
    with call.ledger.transaction() as tx:
        environment = find.environment_id(tx, call.environment)
        history.audit(tx, environment=environment, who=call.who, verb="sample", target=sent.pond, note=sent.note)
    return view


def _accepted(call: Call, kind: str, submit: Callable[[], int]) -> AnswerView:
    with call.ledger.reading() as tx:
        if _open(tx, find.environment_id(tx, call.environment)) >= OPEN_AT_MOST:
            raise Refused(429, "TOO_MANY_QUESTIONS", f"{OPEN_AT_MOST} questions wait already", hint="ask again later")
    return AnswerView(id=f"q{submit()}", kind=kind, state="waiting")


def _open(tx: Transaction, environment: int) -> int:
    row = tx.row(
        """SELECT count(*) AS open FROM
           (SELECT environment, outcome FROM dispatches WHERE run IS NULL AND actor IS NULL
            ORDER BY id DESC LIMIT 1000) newest
           WHERE outcome IS NULL AND environment = :environment""",
        environment=environment,
    )
    return 0 if row is None else number(row, "open")


async def _answer(call: Call) -> AnswerView:
    with anyio.move_on_after(call.asked(WaitQuery).wait):
        while (view := await run_sync(_look, call)).state not in ("done", "failed"):
            await anyio.sleep(LOOK_EVERY_S)
        return view
    return await run_sync(_look, call)


def _withdraw(call: Call) -> AnswerView:
    view = _look(call)
    if view.state not in ("done", "failed"):
        queries.withdraw(call.ledger, _number(call))
    return _look(call)


def _look(call: Call) -> AnswerView:
    identity = _number(call)
    with call.ledger.reading() as tx:
        row = tx.row(
            """SELECT d.kind AS kind, d.outcome AS outcome,
                      (SELECT p.state FROM executions e JOIN processes p ON p.id = e.process
                       WHERE e.dispatch = d.id AND e.completed_at IS NULL) AS worker,
                      (SELECT max(p.state) FROM processes p WHERE p.dead_at IS NULL AND p.role = 'worker') AS others,
                      (SELECT count(*) FROM processes p WHERE p.dead_at IS NULL) AS alive
               FROM dispatches d WHERE d.id = :id AND d.environment = :environment AND d.kind IN ('query', 'sample')""",
            id=identity,
            environment=find.environment_id(tx, call.environment),
        )
    if row is None:
        raise _unknown()
    known, kind = call.path["answer"], text(row, "kind")
    if row["outcome"] is None:
        state = _waiting(text_or_none(row, "worker"), text_or_none(row, "others"), number(row, "alive"))
        return AnswerView(id=known, kind=kind, state=state)
    answer = queries.result(call.ledger, identity)
    if answer is None or answer.failure is not None:
        failure = None if answer is None else answer.failure
        code, message = ("QUERY_LOST", "ask again") if failure is None else (failure.code, failure.message)
        place = None if failure is None else failure.place
        return AnswerView(id=known, kind=kind, state="failed", error=Problem(code=code, message=message, place=place))
    return AnswerView(id=known, kind=kind, state="done", result=msgspec.Raw((answer.result or "{}").encode()))


def _waiting(worker: str | None, others: str | None, alive: int) -> State:
    if worker is not None:
        return "starting spark" if worker.startswith("starting spark") else "running"
    if alive == 0:
        return "no worker"
    return "starting spark" if (others or "").startswith("starting spark") else "waiting"


def _number(call: Call) -> int:
    digits = call.path["answer"].removeprefix("q")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 18):
        raise _unknown()
    return int(digits)


def _unknown() -> Refused:
    return Refused(404, "NO_QUESTION", "there is no such question", hint="POST /v1/queries")


ROUTES = (
    Route(
        method="POST",
        path="/v1/queries",
        level=Level.DEMAND,
        handler=_query,
        request=QueryBody,
        response=AnswerView,
        summary="Ask the published tables something in SQL.",
        status=202,
    ),
    Route(
        method="POST",
        path="/v1/samples",
        level=Level.OPERATE,
        handler=_sample,
        request=SampleBody,
        response=AnswerView,
        summary="Try code on a few published rows; nothing is deployed.",
        status=202,
        limit_bytes=LARGE,
    ),
    Route(
        method="GET",
        path="/v1/answers/{answer}",
        level=Level.DEMAND,
        handler=_answer,
        query=WaitQuery,
        response=AnswerView,
        summary="How far a question is, and its rows; `wait` waits for them.",
    ),
    Route(
        method="DELETE",
        path="/v1/answers/{answer}",
        level=Level.DEMAND,
        handler=_withdraw,
        response=AnswerView,
        summary="Say that nobody waits for an answer any more.",
    ),
)
