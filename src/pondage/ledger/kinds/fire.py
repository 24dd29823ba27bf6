"""Fires of reactors: a graph that runs on Spark, with what the fire saw. Its reactor is told how it ended."""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.kinds.kind import Dispatched, Ending, Kind, Work
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.claims import Claim
from pondage.ledger.step import reactor_ponds
from pondage.ledger.tables import reactors
from pondage.ledger.tables.reactors import Lease
from pondage.work.failure import Failure
from pondage.work.task import Task


class FireTask(Task, frozen=True, kw_only=True):
    """A graph of a fire, with what the fire saw, as plain values; the work's JSON as it is."""

    reactor: str
    entry: str
    graph: str
    fire: int
    attempt: int
    reason: str
    unhealthy: list[str]
    inputs: dict[str, object]

    @property
    def title(self) -> str:
        """Answer the graph and its fire."""
        return f"{self.graph}, fire {self.fire} of reactor {self.reactor}"

    @property
    def folder(self) -> str:
        """Answer that it is a reactor's."""
        return "reactors"


class GraphEnded(Ending, frozen=True):
    """A graph of a fire gave these rows for its reactor's Pond; None when it has no Pond.

    The rows are kept under (reactor, fire, graph): whoever runs the graph again puts the same in the same place.
    """

    rows: list[object] | None

    def write(self, tx: Transaction, ledger: Ledger, work: Work) -> None:
        """Keep the rows and tell the reactor."""
        claim, task = work.claim, work.given(FireTask)
        assert claim.actor is not None
        if self.rows is not None:
            lease = Lease(actor=claim.actor, environment=claim.environment, name=task.reactor, epoch=0, token="")
            result = {"fire": task.fire, "graph": task.graph, "rows": self.rows}
            reactor_ponds.take(tx, lease, "result", msgspec.json.encode(result).decode())
        _tell(tx, claim.actor, task, error=None)


class FireKind(Kind):
    """A graph of a fire, whose end is `GraphEnded`."""

    name = "graph"

    def load(self, tx: Transaction, ledger: Ledger, claim: Claim) -> FireTask:
        """Answer the graph; its inputs came with the dispatch."""
        return _task(claim.inputs)

    def failed(self, tx: Transaction, dispatched: Dispatched, failure: Failure) -> None:
        """Tell the reactor, which decides whether the fire is tried again."""
        if dispatched.actor is not None:
            _tell(tx, dispatched.actor, _task(dispatched.inputs), error=failure.message)


def _tell(tx: Transaction, actor: int, task: FireTask, *, error: str | None) -> None:
    payload = ["done", task.fire, task.attempt, task.graph, error is None, error]
    reactors.signal(tx, actor=actor, payload=payload)


_task = msgspec.json.Decoder(FireTask).decode
