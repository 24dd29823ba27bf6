"""Analyses: Ripples and components called on empty tables, for their schemas and types. Nothing else is changed."""

from __future__ import annotations

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.ledger.database.driver import Transaction
from pondage.ledger.kinds.kind import Answered, Kind, Work
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.claims import Claim
from pondage.ledger.tables import inferred_types
from pondage.work.inference import Inferred, Question
from pondage.work.task import Task


class InferTask(Task, frozen=True, kw_only=True):
    """Schemas to be found, and the work's JSON as it is. `ponds` are bound and stand behind their Sources.

    `known` are published schemas by `table_key`; those in `asked` are found anew by calling the Ripple. Questions about
    components of jobs and flows come alone.
    """

    ponds: tuple[PondDefinition, ...] = ()
    known: dict[str, str] = msgspec.field(default_factory=dict)
    asked: tuple[str, ...] = ()
    freshness: int = 0
    questions: tuple[Question, ...] = ()


class TypesFound(Answered, frozen=True):
    """The types of outputs of components, as JSON: kept, so that nobody asks twice."""

    def write(self, tx: Transaction, ledger: Ledger, work: Work) -> None:
        """Keep what was found."""
        found, days = _answers(self.result), ledger.durability.retention_days
        inferred_types.keep(tx, work.claim.environment, found, retention_days=days)


class InferKind(Kind):
    """An analysis, whose end is `Answered` or `TypesFound`. Its crash budget is 0: who waits for it asks again."""

    name = "infer"

    def load(self, tx: Transaction, ledger: Ledger, claim: Claim) -> InferTask:
        """Answer the analysis; it reads nothing."""
        return _task(claim.inputs)


_answers = msgspec.json.Decoder(tuple[Inferred, ...]).decode
_task = msgspec.json.Decoder(InferTask).decode
