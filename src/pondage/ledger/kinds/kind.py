"""What every kind of work has: a task that a claim brings along, endings that a commit writes, and who is told."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol, TypeVar

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.claims import Claim
from pondage.ledger.queue.executions import Outcome
from pondage.ledger.step.actor import Happening
from pondage.work.failure import Failure
from pondage.work.task import Task

_Task = TypeVar("_Task", bound=Task)


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """A claimed execution and what it is about."""

    claim: Claim
    task: Task
    summary: str | None = None
    """When it has ended: what Spark did for it, as `executions.progress` keeps it."""

    def given(self, task: type[_Task]) -> _Task:
        """Answer the task as one of its kind; a claim of another kind is an error of ours."""
        assert isinstance(self.task, task), f"{self.claim.kind} {self.claim.node} is no {task.__name__}"
        return self.task


class Dispatched(Protocol):
    """What a claim and a row that nobody holds any more both say about a dispatch."""

    @property
    def kind(self) -> str:
        """Answer the name of its kind."""

    @property
    def actor(self) -> int | None:
        """Answer who must be told how it ended."""

    @property
    def node(self) -> str:
        """Answer what is run."""

    @property
    def number(self) -> int:
        """Answer which attempt of the machine it is."""

    @property
    def inputs(self) -> str:
        """Answer what was written when it was dispatched."""


class Kind(ABC):
    """What the ledger must know of a kind of work. The registry has one of each."""

    name: ClassVar[str]
    """As `dispatches.kind` holds it."""
    survives_crashes: ClassVar[bool] = True
    """Whether it is tried again when its process died. Somebody who waits for an answer asks again himself."""

    @abstractmethod
    def load(self, tx: Transaction, ledger: Ledger, claim: Claim) -> Task:
        """Answer everything that the work needs, in the transaction of the claim."""

    # Not abstract on purpose, nor are the next ones: some kinds have nobody who must know.
    def failed(self, tx: Transaction, dispatched: Dispatched, failure: Failure) -> Happening | None:  # noqa: B027
        """Answer what its actor is told when it has failed for good; None when it has no machine."""

    def left(self, dispatched: Dispatched) -> Happening | None:  # noqa: B027
        """Answer what its actor is told when its last execution is over and gave nothing."""

    def interrupted(self, tx: Transaction, dispatched: Dispatched, why: str) -> None:  # noqa: B027
        """Tell whoever must know that it stopped for now: it was given back, or its process died."""


class Ending(msgspec.Struct, frozen=True):
    """How an execution ended. The guarded commit closes the execution with it, if that is still ours."""

    @property
    def outcome(self) -> Outcome:
        """Answer how the execution and its dispatch are closed."""
        return "ok"

    @property
    def error(self) -> str | None:
        """Answer why it failed, as JSON."""
        return None

    @property
    def answer(self) -> str | None:
        """Answer what somebody waits for, as JSON."""
        return None

    @property
    def is_failure(self) -> bool:
        """Answer whether something went wrong: when the driver has died nobody knows what it would have done."""
        return False

    @property
    def keeps_files(self) -> bool:
        """Answer whether what was written belongs to the end; what does not is thrown away before the commit."""
        return True

    @property
    def lacked_memory(self) -> str | None:
        """Answer what was said by somebody who ran out of memory, so that it may run again with more."""
        return None

    @property
    def line(self) -> str | None:
        """Answer what a log that has begun is told. What the ledger knows anyway is not worth a file of its own."""
        return None

    def write(self, tx: Transaction, ledger: Ledger, work: Work) -> Happening | None:
        """Write what the execution gave, in the guarded commit, and answer what its actor must be told."""


class Answered(Ending, frozen=True):
    """A question was answered; `result` is JSON."""

    result: str

    @property
    def answer(self) -> str:
        """Answer the result."""
        return self.result
