"""The host of jobs in memory: the control machine, its rows in dictionaries, and a table of timers."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence

from pondage.kernel.control import Effect, Event, Index, JobPlan, JobState, MemoryRows, State, Step, collect, step
from pondage.kernel.control import effects as does
from pondage.kernel.control.effects import Timer
from pondage.kernel.control.events import GraceOver, Start, Timeout, Unfold
from pondage.kernel.control.reading import components_of, result_values
from pondage.kernel.control.state import RunRow


class VirtualControlHost:
    """Steps the control machine in virtual time. `disturb` may replace the rows after every step (tests do)."""

    def __init__(self, disturb: Callable[[MemoryRows], MemoryRows] | None = None) -> None:
        self.rows = MemoryRows()
        self.index: Index | None = None
        self.steps: list[Step] = []
        self.fresh_globals = False
        self._disturb = disturb
        self._timers: list[tuple[int, int, GraceOver | Timeout]] = []
        self._count = 0

    def start(self, plan: JobPlan, start: Start, now: int) -> Sequence[Effect]:
        """Begin a run with no rows."""
        self.rows, self._timers, self.steps = MemoryRows(), [], []
        self.index = Index(plan)
        return self.apply(now, [start])

    def resume(self, plan: JobPlan, start: Start, now: int) -> Sequence[Effect]:
        """Begin a new run with what the last one finished."""
        assert self.index is not None, "nothing has run yet"
        new = Index(plan)
        restore = collect(self.index, self.rows, new, fresh_globals=self.fresh_globals)
        self.rows, self._timers, self.steps, self.index = MemoryRows(), [], [], new
        return self.apply(now, [start, restore])

    def settle(self, now: int, events: Sequence[Event]) -> Sequence[Effect]:
        """Make one step of the events and the timers that are due."""
        due: list[Event] = []
        while self._timers and self._timers[0][0] <= now:
            due.append(heapq.heappop(self._timers)[2])
        return self.apply(now, [*events, *due])

    def apply(self, now: int, events: Sequence[Event]) -> Sequence[Effect]:
        """Make one step of exactly these events, and those that a big fan-out takes."""
        effects: list[Effect] = []
        waiting = list(events)
        while waiting:
            decided = self._stepped(now, waiting)
            effects += decided
            # What one step did not open is opened before anything else happens.
            waiting = [Unfold(instance=effect.instance) for effect in decided if isinstance(effect, does.Unfold)]
        return tuple(effects)

    def _stepped(self, now: int, events: Sequence[Event]) -> Sequence[Effect]:
        assert self.index is not None, "nothing has been started"
        result = step(self.index, self.rows, events, now)
        self.steps.append(result)
        for effect in result.effects:
            if isinstance(effect, Timer):
                self._count += 1
                heapq.heappush(self._timers, (effect.at, self._count, effect.event))
        if self._disturb is not None:
            self.rows = self._disturb(self.rows)
        return result.effects

    def next_timer(self) -> int | None:
        """Give the time of the earliest timer."""
        return self._timers[0][0] if self._timers else None

    def states(self) -> Mapping[str, State]:
        """Give the state of every component of every level that exists."""
        assert self.index is not None
        levels, components = self.rows.tables.get("level", {}), self.rows.tables.get("component", {})
        return {name: row.state for name, row in components_of(self.index, levels, components)}

    def globals(self) -> Mapping[str, object]:
        """Give the values of the job's result."""
        return result_values(self.rows.get)

    def result(self) -> tuple[JobState, str | None]:
        """Give the state and code of the run."""
        row = self.rows.tables["run"][""]
        assert isinstance(row, RunRow)
        return row.state or JobState.RUNNING, row.code

    def close(self) -> None:
        """Hold nothing, release nothing."""
