"""The end of work that failed, whatever its kind: the author's code, its output or its time was at fault."""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.kinds.kind import Ending, Work
from pondage.ledger.kinds.registry import KINDS
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.executions import Outcome
from pondage.ledger.step.actor import Happening
from pondage.work.failure import Failure, RuleFailure


class Failed(Ending, frozen=True):
    """It failed, and this is why. The machine behind it decides whether it is tried again."""

    failure: Failure

    @property
    def outcome(self) -> Outcome:
        """Answer that it failed."""
        return "failed"

    @property
    def error(self) -> str:
        """Answer all that is known."""
        return msgspec.json.encode(self.failure).decode()

    @property
    def is_failure(self) -> bool:
        """Answer that it is one."""
        return True

    @property
    def keeps_files(self) -> bool:
        """Answer whether rows break a rule: they stay until a vacuum, because somebody will want to see them."""
        return isinstance(self.failure, RuleFailure)

    def write(self, tx: Transaction, ledger: Ledger, work: Work) -> Happening | None:
        """Answer what the kind of the work says about a failure."""
        return KINDS[work.claim.kind].failed(tx, work.claim, self.failure)
