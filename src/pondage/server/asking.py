"""Routes for questions: a worker answers them, so each is accepted first and its answer is fetched or waited for."""

from __future__ import annotations

from typing import Annotated

import anyio
import msgspec
from anyio.to_thread import run_sync

from pondage.ledger.act import questions
from pondage.ledger.act.plan_basis import planned
from pondage.ledger.commit.trials import submit_sample
from pondage.ledger.database.driver import Transaction, number
from pondage.ledger.tables import actors
from pondage.operations.questions import (
    AnswerView,
    Breaking,
    Compacting,
    Comparing,
    as_of,
    begin_breaks,
    begin_compaction,
    begin_diff,
    question,
)
from pondage.plan.deploy.planner import checked
from pondage.project.sql import tables_or_none
from pondage.server.demanding import Plain
from pondage.server.levels import Level
from pondage.server.problems import Refused
from pondage.server.question_ids import opened, sealed
from pondage.server.table import Call, Moment, Route
from pondage.server.uploads import LARGE, Upload, check_upload
from pondage.views.plans.declared import declared_pond

OPEN_AT_MOST = 50
LOOK_EVERY_S = 0.2


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


class DiffBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Pond as it is now, against a Run of it or an environment; rows are matched by the `keys`."""

    pond: str
    against: str
    keys: Annotated[tuple[str, ...], msgspec.Meta(max_length=50)] = ()
    limit: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 20


class BreaksBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Pond or one of its Ripples, and one rule of it, or all."""

    subject: str
    rule: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 20


def _query(call: Call) -> AnswerView:
    sent = call.sent(QueryBody)
    check_room(call)
    seen = None if sent.as_of is None else as_of(call.ledger, call.environment, sent.as_of)
    tables = tables_or_none(sent.sql)
    asked = questions.submit(call.ledger, call.environment, sent.sql, limit=sent.limit, as_of=seen, tables=tables)
    return AnswerView(id=sealed(call, asked), kind="query", state="waiting")


def _sample(call: Call) -> AnswerView:
    sent = call.sent(SampleBody)
    check_upload(sent)
    check_room(call)
    plan, _ = planned(call.ledger, call.environment, project=sent.project, ponds=sent.ponds, reactors=sent.reactors)
    definition = declared_pond(checked(plan), sent.pond, sent.ripple or "")
    asked = submit_sample(
        call.ledger,
        call.environment,
        definition,
        archive=sent.archive,
        ripple=sent.ripple or None,
        rows=sent.rows,
        limit=sent.limit,
        by=call.by(sent.note),
    )
    return AnswerView(id=sealed(call, asked), kind="sample", state="waiting")


def _diff(call: Call) -> Comparing:
    sent = call.sent(DiffBody)
    check_room(call)
    with call.ledger.reading() as tx:
        is_environment = actors.environment(tx, sent.against) is not None
    if is_environment and (call.token is None or not call.token.may_see(sent.against)):
        raise Refused(404, "NO_ENVIRONMENT", f"there is no environment {sent.against[:63]!r}", hint="pondage env list")
    begun = begin_diff(call.ledger, call.environment, sent.pond, against=sent.against, keys=sent.keys, limit=sent.limit)
    return begun if begun.answer is None else msgspec.structs.replace(begun, answer=_sealed_again(call, begun.answer))


def _breaks(call: Call) -> list[Breaking]:
    sent = call.sent(BreaksBody)
    check_room(call)
    begun = begin_breaks(call.ledger, call.environment, sent.subject, rule=sent.rule, limit=sent.limit)
    return [msgspec.structs.replace(each, answer=_sealed_again(call, each.answer)) for each in begun]


def _compact(call: Call) -> Compacting:
    note = call.sent(Plain).note
    begun = begin_compaction(call.ledger, call.environment, call.path["pond"], by=call.by(note))
    tables = (msgspec.structs.replace(each, answer=_sealed_again(call, each.answer)) for each in begun.tables)
    return Compacting(pond=begun.pond, tables=tuple(tables))


def _sealed_again(call: Call, known: str) -> str:
    return sealed(call, int(known.removeprefix("q")))


def check_room(call: Call) -> None:
    """Refuse a question when too many wait already; an environment that does not exist yet has none."""
    with call.ledger.reading() as tx:
        environment = actors.environment(tx, call.environment)
        if environment is not None and _open(tx, environment) >= OPEN_AT_MOST:
            raise Refused(429, "TOO_MANY_QUESTIONS", f"{OPEN_AT_MOST} questions wait already", hint="ask again later")


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
        questions.withdraw(call.ledger, opened(call, call.path["answer"]) or 0)
    return _look(call)


def _look(call: Call) -> AnswerView:
    known = call.path["answer"]
    dispatch = opened(call, known)
    view = None if dispatch is None else question(call.ledger, call.environment, dispatch, known)
    if view is None:
        raise _unknown()
    return view


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
        method="POST",
        path="/v1/diffs",
        level=Level.DEMAND,
        handler=_diff,
        request=DiffBody,
        response=Comparing,
        summary="Compare what a Pond shows with an older Run of it, or with another environment.",
        status=202,
    ),
    Route(
        method="POST",
        path="/v1/checks/rows",
        level=Level.DEMAND,
        handler=_breaks,
        request=BreaksBody,
        response=list[Breaking],
        summary="Ask for rows that break expectations.",
        status=202,
    ),
    Route(
        method="POST",
        path="/v1/ponds/{pond}/compact",
        level=Level.OPERATE,
        handler=_compact,
        request=Plain,
        response=Compacting,
        summary="Put the small batches of a Pond into few files.",
        status=202,
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
