"""When an effect may be performed. In memory: at once. A journal holds it until every record before it is durable."""

from collections.abc import Callable, Sequence
from typing import Protocol

from pondage.kernel.reaction import Effect

Perform = Callable[[Effect], None]


class Output(Protocol):
    """Takes the effects of each step, in order, and performs each as soon as rule H1 (and H2) of the machine allows.

    A journal's output keeps the records of `Log`, commits all pending ones as one transaction, and performs what it
    held afterwards; it calls `perform` on the loop's thread only.
    """

    def take(self, effects: Sequence[Effect], perform: Perform) -> None:
        """Take the effects of one step."""

    async def close(self) -> None:
        """Write what is pending and release everything."""


class DirectOutput:
    """The output of a reactor in memory: there are no records, so nothing is ever held."""

    def take(self, effects: Sequence[Effect], perform: Perform) -> None:
        """Perform everything at once."""
        for effect in effects:
            perform(effect)

    async def close(self) -> None:
        """Hold nothing, release nothing."""
