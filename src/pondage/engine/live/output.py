"""When an effect may be performed. In memory: at once. A journal holds it until every record before it is durable."""

from collections.abc import Callable, Sequence
from typing import Protocol

from pondage.engine.live.pump import Pump
from pondage.kernel.reaction import Effect
from pondage.ledger.tables.reactors import LedgerRow


class Output(Protocol):
    """Takes the effects of each step, in order, and performs each as soon as rule H1 (and H2) of the machine allows.

    A journal's output keeps the records of `Log`, commits all pending ones as one transaction, and performs what it
    held afterwards; it performs on the loop's thread only.
    """

    def attach(self, pump: Pump) -> None:
        """Get to know the pump that performs effects and takes in events."""

    def take(self, effects: Sequence[Effect]) -> None:
        """Take the effects of one step."""

    def say(self, row: LedgerRow) -> None:
        """Tell the ledger something, together with what the machine decided so far."""

    async def close(self) -> None:
        """Write what is pending and release everything."""


class DirectOutput:
    """The output of a reactor in memory: there are no records, so nothing is ever held."""

    def __init__(self, say: Callable[[LedgerRow], None] | None = None) -> None:
        self._say = say

    def attach(self, pump: Pump) -> None:
        """Perform with the pump, directly."""
        self._perform = pump.perform

    def take(self, effects: Sequence[Effect]) -> None:
        """Perform everything at once."""
        perform = self._perform
        for effect in effects:
            perform(effect)

    def say(self, row: LedgerRow) -> None:
        """Hand the row on; without a ledger there is nobody to tell."""
        if self._say is not None:
            self._say(row)

    async def close(self) -> None:
        """Hold nothing, release nothing."""
