"""A kind of work that Pondage does not have: counting letters. With its executor it is all that a new kind needs."""

from __future__ import annotations

import msgspec

from pondage.engine.attempt.attempt import Attempt
from pondage.engine.execute.bench import Bench, KindExecutor
from pondage.ledger.database.driver import Transaction
from pondage.ledger.kinds.kind import Dispatched, Ending, Kind, Work
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions
from pondage.ledger.queue.claims import Claim
from pondage.ledger.queue.executions import Dispatch
from pondage.ledger.queue.queues import QueueKey
from pondage.ledger.tables import actors, history
from pondage.work.failure import Failure
from pondage.work.task import Task


class CountTask(Task, frozen=True, kw_only=True):
    """A text whose letters are counted."""

    text: str


class Counted(Ending, frozen=True):
    """So many letters there were."""

    letters: int

    @property
    def answer(self) -> str:
        return str(self.letters)

    def write(self, tx: Transaction, ledger: Ledger, work: Work) -> None:
        history.record(tx, environment=work.claim.environment, kind="counted", payload={"letters": self.letters})


class CountKind(Kind):
    """Counting, whose end is `Counted`."""

    name = "count"

    def load(self, tx: Transaction, ledger: Ledger, claim: Claim) -> CountTask:
        return msgspec.json.decode(claim.inputs, type=CountTask)

    def failed(self, tx: Transaction, dispatched: Dispatched, failure: Failure) -> None:
        self._note(tx, dispatched, failure.message)

    def interrupted(self, tx: Transaction, dispatched: Dispatched, why: str) -> None:
        self._note(tx, dispatched, why)

    def _note(self, tx: Transaction, dispatched: Dispatched, why: str) -> None:
        environment = actors.environment(tx, "main")
        assert environment is not None
        history.record(tx, environment=environment, kind="not counted", payload={dispatched.node: why})


class CountExecutor(KindExecutor):
    """Counts letters; nobody needs Spark for that."""

    def execute(self, attempt: Attempt, bench: Bench) -> Counted:
        text = attempt.work.given(CountTask).text
        if not text.isalpha():
            raise ValueError(f"{text!r} has more than letters")
        return Counted(len(text))


def submit(ledger: Ledger, text: str) -> int:
    """Ask for a count."""
    with ledger.transaction() as tx:
        environment = actors.made_environment(tx, "main")
        return executions.dispatch(
            tx,
            Dispatch(
                environment=environment, kind=CountKind.name, node="letters", number=1, crash_budget=3,
                queue=ledger.queue(tx, QueueKey(code="")), inputs=msgspec.json.encode(CountTask(text=text)).decode(),
            ),
        )  # fmt: skip
