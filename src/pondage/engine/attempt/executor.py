"""The seam between a worker and whatever does its work: Spark in earnest, a plain function in tests."""

from __future__ import annotations

from typing import Protocol

import msgspec

from pondage.engine.attempt.attempt import Attempt
from pondage.ledger.kinds.kind import Ending
from pondage.work.failure import Failure
from pondage.work.progress import JobProgress


class Crashed(msgspec.Struct, frozen=True):
    """An external program died without a word: it is run again, as long as its budget lasts."""

    reason: str


Result = Ending | Crashed
"""What an execution gave: an end that is committed, or a program that died."""


class Executor(Protocol):
    """What does the work. `execute` is called by slot threads, the other methods by any thread at any time."""

    def execute(self, attempt: Attempt) -> Result:
        """Do the work of an attempt in the calling thread; raises whatever the author's code raises."""

    def failure(self, error: BaseException) -> Failure:
        """Say in the words of a person why `execute` raised."""

    def cancel(self, token: str) -> None:
        """Stop what the attempt runs now; it may start something else, so this is repeated until it has ended."""

    def progress(self, token: str) -> JobProgress:
        """Answer how far the attempt is; all zero when that is not known."""

    def discard(self, attempt: Attempt) -> None:
        """Throw away what an attempt wrote that nobody will ever see. Finding nothing is fine."""

    def is_alive(self) -> bool:
        """Answer whether work can be done. False for ever once the driver has died."""

    def ran_out_of_memory(self) -> bool:
        """Answer whether the driver, which is dead, has died because its memory was not enough."""

    def stop(self) -> None:
        """End it. Calling it twice is harmless."""
