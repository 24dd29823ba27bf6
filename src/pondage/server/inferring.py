"""The route that asks a worker for types which only Spark knows; no author's code runs here."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec

from pondage.ledger.act.exposed import given
from pondage.operations.inferring import Inferring, begin_inference
from pondage.project.archive import check_archive
from pondage.server.asking import check_room
from pondage.server.levels import Level
from pondage.server.problems import Refused
from pondage.server.question_ids import sealed
from pondage.server.table import Call, Route
from pondage.server.uploads import LARGE
from pondage.work.inference import Question

_KEY = re.compile(r"[0-9a-f]{64}\Z")


class InferenceBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Components with the types that come in, and their code: sent as a zip file in base64, or deployed."""

    questions: Annotated[tuple[Question, ...], msgspec.Meta(min_length=1, max_length=1_000)]
    archive: bytes = b""
    code: str = ""


def _infer(call: Call) -> Inferring:
    sent = call.sent(InferenceBody)
    check_room(call)
    if not all(_KEY.match(one.key) for one in sent.questions):
        raise Refused(422, "BAD_KEY", "the key of a question is a SHA-256 in hexadecimal", place="$.questions")
    if sent.code:
        with call.ledger.reading() as tx:
            deployed = given(tx, call.environment).archives
        if sent.code not in deployed:
            raise Refused(422, "FOREIGN_CODE", "the questions name code that is not deployed", place="$.code")
    else:
        check_archive(sent.archive)
    begun, dispatch = begin_inference(
        call.ledger, call.environment, sent.questions, archive=sent.archive, code=sent.code
    )
    return begun if dispatch is None else msgspec.structs.replace(begun, answer=sealed(call, dispatch))


ROUTES = (
    Route(
        method="POST",
        path="/v1/inferences",
        level=Level.OPERATE,
        handler=_infer,
        request=InferenceBody,
        response=Inferring,
        summary="Let a worker call components on empty tables; what is known already is answered at once.",
        status=202,
        limit_bytes=LARGE,
    ),
)
