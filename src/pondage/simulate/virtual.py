"""The host in memory: the machine, its states in a dictionary, and a table of timers."""

from collections.abc import Mapping, Sequence

from pondage.kernel.demand import (
    Effect,
    Event,
    Gate,
    MemoryPonds,
    PondKey,
    PondShape,
    PondState,
    explain,
    step,
)
from pondage.kernel.demand.effects import Timer
from pondage.kernel.demand.events import Deploy, Report, Tick, Verb


class VirtualHost:
    """Steps the machine in virtual time. `ponds` may be given, so that tests can watch or disturb what it stores."""

    def __init__(self, ponds: MemoryPonds | None = None) -> None:
        self.ponds = ponds or MemoryPonds()
        self.timers: dict[PondKey, int] = {}

    def deploy(self, shapes: Sequence[PondShape], now: int) -> None:
        """Deploy these Ponds in one step."""
        for shape in shapes:
            self.ponds.define(shape)
        self.apply(now, [Deploy(pond=shape.key, definition="1") for shape in shapes])

    def settle(self, now: int, reports: Sequence[Report], actions: Sequence[Verb]) -> Sequence[Effect]:
        """Make one step of the reports, the actions and the timers that are due."""
        due = [key for key, at in self.timers.items() if at <= now]
        for key in due:
            del self.timers[key]
        return self.apply(now, [*reports, *actions, *(Tick(pond=key) for key in due)])

    def apply(self, now: int, events: Sequence[Event]) -> Sequence[Effect]:
        """Make one step of exactly these events."""
        result = step(self.ponds, events, now)
        for effect in result.effects:
            if isinstance(effect, Timer):
                self.timers[effect.pond] = effect.at
        return result.effects

    def next_timer(self) -> int | None:
        """Give the time of the earliest timer."""
        return min(self.timers.values(), default=None)

    def states(self) -> Mapping[PondKey, PondState]:
        """Give the live states."""
        return self.ponds.states

    def explain(self, key: PondKey, now: int) -> list[Gate]:
        """Say why a Pond does or does not run."""
        return explain(self.ponds, key, now)

    def close(self) -> None:
        """Hold nothing, release nothing."""
