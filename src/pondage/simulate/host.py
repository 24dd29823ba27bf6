"""What a simulation needs of a host. The virtual host and the durable one answer the same calls in the same way."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from pondage.kernel.demand import Effect, Gate, PondKey, PondShape, PondState
from pondage.kernel.demand.events import Report, Verb


class Host(Protocol):
    """One graph of Ponds whose clock and workers are played by a simulation."""

    def deploy(self, shapes: Sequence[PondShape], now: int) -> None:
        """Deploy these Ponds at time `now`; called once, before anything else."""

    def settle(self, now: int, reports: Sequence[Report], actions: Sequence[Verb]) -> Sequence[Effect]:
        """Set the clock to `now`, take in the reports, the actions and every timer that is due, and advance once.

        Gives what was decided, in order. A report of a cancelled or unknown attempt is ignored.
        """

    def next_timer(self) -> int | None:
        """Give the time of the earliest timer, or None."""

    def states(self) -> Mapping[PondKey, PondState]:
        """Give the state of every deployed Pond, to be read only."""

    def explain(self, key: PondKey, now: int) -> list[Gate]:
        """Say why a Pond does or does not run."""

    def close(self) -> None:
        """Release whatever the host holds."""
