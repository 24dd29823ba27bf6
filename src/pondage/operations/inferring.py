"""Asking a worker for types that only Spark knows: what the ledger has is answered at once, the rest is asked for."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pondage.ledger.commit import inferred_types
from pondage.ledger.commit.trials import submit_questions
from pondage.ledger.ledger import Ledger
from pondage.operations.questions import known_as
from pondage.work.inference import Inferred, Question


class Inferring(msgspec.Struct, frozen=True, kw_only=True):
    """What is known already, and the question for the rest; none when there is no rest."""

    known: tuple[Inferred, ...] = ()
    answer: str | None = None


def begin_inference(
    ledger: Ledger,
    environment: str,
    questions: Sequence[Question],
    *,
    archive: bytes,
    code: str = "",
    timeout_s: float | None = None,
) -> tuple[Inferring, int | None]:
    """Look up what is known and ask a worker for the rest; the code is sent as an archive, or stored under a digest."""
    with ledger.reading() as tx:
        known = inferred_types.known(tx, environment, [one.key for one in questions])
    found = {one.key for one in known}
    left = [one for one in questions if one.key not in found]
    if not left:
        return Inferring(known=tuple(known)), None
    dispatch = submit_questions(ledger, environment, left, archive=archive, code=code, timeout_s=timeout_s)
    return Inferring(known=tuple(known), answer=known_as(dispatch)), dispatch
