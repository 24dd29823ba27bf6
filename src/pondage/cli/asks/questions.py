"""Asks that a worker answers: each is accepted first, and its answer is waited for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import msgspec

from pondage.cli.asks.uploads import Read
from pondage.cli.client.desk import asks
from pondage.cli.client.session import Session
from pondage.errors import NotFound
from pondage.ledger.act import questions
from pondage.ledger.act.plan_basis import planned
from pondage.ledger.commit.trials import submit_sample
from pondage.ledger.tables.history import this_person
from pondage.operations.questions import (
    AnswerView,
    Breaking,
    Compacting,
    Comparing,
    begin_breaks,
    begin_compaction,
    begin_diff,
    known_as,
    question,
)
from pondage.operations.questions import as_of as seen_then
from pondage.plan.deploy.planner import checked
from pondage.project.sql import tables_or_none
from pondage.views.plans.declared import declared_pond


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """A question that was taken; its id leads to the answer."""

    id: str


@asks("POST /v1/queries")
def query(here: Session, *, sql: str, limit: int, as_of: int | str | None = None) -> Accepted:
    """Ask something in SQL, of now or of the past."""
    seen = None if as_of is None else seen_then(here.ledger, here.environment, as_of)
    tables = tables_or_none(sql)
    return Accepted(
        id=known_as(questions.submit(here.ledger, here.environment, sql, limit=limit, as_of=seen, tables=tables))
    )


@asks("POST /v1/samples")
def sample(here: Session, *, pond: str, ripple: str | None, rows: int, limit: int, **read: Unpack[Read]) -> Accepted:
    """Ask for code of the files to be tried on a few rows."""
    plan, _ = planned(
        here.ledger, here.environment, project=read["project"], ponds=read["ponds"], reactors=read["reactors"]
    )
    definition = declared_pond(checked(plan), pond, ripple or "")
    return Accepted(
        id=known_as(
            submit_sample(
                here.ledger,
                here.environment,
                definition,
                archive=read["archive"],
                ripple=ripple,
                rows=rows,
                limit=limit,
                by=this_person(),
            )
        )
    )


@asks("POST /v1/diffs")
def diff(here: Session, *, pond: str, against: str, keys: Sequence[str], limit: int) -> Comparing:
    """Ask what differs between two states of a Pond."""
    return begin_diff(here.ledger, here.environment, pond, against=against, keys=keys, limit=limit)


@asks("POST /v1/checks/rows")
def breaks(here: Session, *, subject: str, rule: str | None, limit: int) -> list[Breaking]:
    """Ask for rows that break rules."""
    return begin_breaks(here.ledger, here.environment, subject, rule=rule, limit=limit)


@asks("POST /v1/ponds/{pond}/compact")
def compact(here: Session, *, pond: str) -> Compacting:
    """Ask for the small batches of a Pond to be put together."""
    return begin_compaction(here.ledger, here.environment, pond, by=this_person())


@asks("GET /v1/answers/{answer}")
def look(here: Session, *, answer: str, wait: float) -> AnswerView:
    """Look how far a question is; a server waits so many seconds for its end."""
    del wait
    found = question(here.ledger, here.environment, _number(answer), answer)
    if found is None:
        raise NotFound("there is no such question", code="NO_QUESTION")
    return found


@asks("DELETE /v1/answers/{answer}")
def withdraw(here: Session, *, answer: str) -> AnswerView:
    """Say that nobody waits for an answer any more."""
    questions.withdraw(here.ledger, _number(answer))
    return look.here(here, answer=answer, wait=0.0)


def _number(answer: str) -> int:
    return int(answer.removeprefix("q"))
