"""Asking for the types of components, which only Spark knows."""

from __future__ import annotations

from collections.abc import Sequence

from pondage.cli.client.desk import asks
from pondage.cli.client.session import Session
from pondage.operations.inferring import Inferring, begin_inference
from pondage.work.inference import Question


@asks("POST /v1/inferences", kept=("timeout_s",))
def inference(
    here: Session, *, questions: Sequence[Question], archive: bytes, code: str, timeout_s: float
) -> Inferring:
    """Ask what components give for inputs of these types."""
    return begin_inference(here.ledger, here.environment, questions, archive=archive, code=code, timeout_s=timeout_s)[0]
