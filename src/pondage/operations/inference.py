"""Asking a worker for types that only Spark knows: what the ledger has is answered at once, the rest is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from pondage.ledger.act.trials import submit_questions
from pondage.ledger.tables import inferred_types
from pondage.operations.operation import Context, Level, Request, operation
from pondage.operations.questions import known_as
from pondage.work.inference import Inferred, Question


class Inferring(msgspec.Struct, frozen=True, kw_only=True):
    """What is known already, and the question for the rest; none when there is no rest.

    A server calls questions by keys of its own: `keys` has that of each question that was sent under another one.
    """

    known: tuple[Inferred, ...] = ()
    answer: str | None = None
    keys: dict[str, str] = {}


class InferRequest(Request, frozen=True, kw_only=True):
    """Components with the types that come in, and their code: sent as a zip file in base64, or deployed."""

    questions: Annotated[Sequence[Question], msgspec.Meta(min_length=1, max_length=1_000)]
    archive: bytes = b""
    code: str = ""
    timeout_s: float | None = None


@operation("POST /v1/inferences", Level.OPERATE, InferRequest, status=202, kept=("timeout_s",), kind="ask")
def infer(context: Context, asked: InferRequest) -> Inferring:
    """Let a worker call components on empty tables; what is known already is answered at once."""
    with context.ledger.reading() as tx:
        known = inferred_types.known(tx, context.environment, [one.key for one in asked.questions])
    found = {one.key for one in known}
    left = [one for one in asked.questions if one.key not in found]
    if not left:
        return Inferring(known=tuple(known))
    dispatch = submit_questions(
        context.ledger,
        context.environment,
        left,
        archive=asked.archive,
        code=asked.code,
        timeout_s=min(context.question_s, asked.timeout_s or context.question_s),
    )
    return Inferring(known=tuple(known), answer=known_as(dispatch))
