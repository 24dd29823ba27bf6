"""The host in memory: the machine, its states in a dictionary, and a table of timers."""

import heapq
from collections.abc import Mapping, Sequence

from pondage.kernel.demand import (
    Effect,
    Event,
    Gate,
    MemoryPonds,
    PondKey,
    PondShape,
    PondState,
    Step,
    explain,
    step,
)
from pondage.kernel.demand.effects import Deployed, Timer
from pondage.kernel.demand.events import Deploy, Read, Report, Tick, Verb
from pondage.simulate.agreement import VirtualRuns


class VirtualHost:
    """Steps the machine in virtual time. `ponds` may be given, so that tests can watch or disturb what it stores."""

    def __init__(self, ponds: MemoryPonds | None = None) -> None:
        self.ponds = ponds or MemoryPonds()
        self._timers: dict[PondKey, int] = {}
        self._queue: list[tuple[int, PondKey]] = []
        self.woken: dict[PondKey, list[int]] = {}
        """When somebody who read ended the rest of a trigger, for each Pond."""
        self.runs: VirtualRuns | None = None
        """Only where a Pond asks whether its Sources agree: every other simulation does without."""

    def deploy(self, shapes: Sequence[PondShape], now: int) -> None:
        """Deploy these Ponds in one step."""
        for shape in shapes:
            self.ponds.define(shape)
        if any(shape.must_agree for shape in shapes):
            self.runs = VirtualRuns(self.ponds.shapes)
        self.apply(now, [Deploy(pond=shape.key, definition="1") for shape in shapes])

    def settle(self, now: int, reports: Sequence[Report], actions: Sequence[Verb]) -> Sequence[Effect]:
        """Make one step of the reports, the actions and the timers that are due."""
        due: list[Event] = []
        while (at := self.next_timer()) is not None and at <= now:
            _, key = heapq.heappop(self._queue)
            del self._timers[key]
            due.append(Tick(pond=key))
        return self.apply(now, [*reports, *actions, *due])

    def apply(self, now: int, events: Sequence[Event]) -> Sequence[Effect]:
        """Make one step of exactly these events, and of the answers to what it asks."""
        effects: list[Effect] = []
        pending = list(events)
        while pending:
            decided = self.advance(now, pending).effects
            for effect in decided:
                if isinstance(effect, Timer):
                    self._timers[effect.pond] = effect.at
                    heapq.heappush(self._queue, (effect.at, effect.pond))
            effects.extend(decided)
            pending = [] if self.runs is None else list(self._noted(self.runs, decided))
        return effects

    def _noted(self, runs: VirtualRuns, decided: Sequence[Effect]) -> Sequence[Event]:
        if any(isinstance(effect, Deployed) for effect in decided):
            runs.deployed()
        return runs.note(decided)

    def advance(self, now: int, events: Sequence[Event]) -> Step:
        """Call the machine; a place for tests to look at each step."""
        read = {event.pond: self._resting(event.pond) for event in events if isinstance(event, Read)}
        done = step(self.ponds, events, now)
        for pond, resting in read.items():
            if resting - self._resting(pond):
                self.woken.setdefault(pond, []).append(now)
        return done

    def _resting(self, pond: PondKey) -> set[str]:
        state = self.ponds.states.get(pond)
        return set() if state is None else {name for name, each in state.following.items() if each.is_resting}

    def next_timer(self) -> int | None:
        """Give the time of the earliest timer."""
        while self._queue and self._timers.get(self._queue[0][1]) != self._queue[0][0]:
            heapq.heappop(self._queue)  # replaced by a later one
        return self._queue[0][0] if self._queue else None

    def states(self) -> Mapping[PondKey, PondState]:
        """Give the live states."""
        return self.ponds.states

    def explain(self, key: PondKey, now: int) -> list[Gate]:
        """Say why a Pond does or does not run."""
        return explain(self.ponds, key, now)

    def close(self) -> None:
        """Hold nothing, release nothing."""
