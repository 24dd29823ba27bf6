"""A simulation: virtual workers that take time and sometimes fail, actions at given times, a clock that jumps."""

import heapq
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from pondage.kernel.demand.effects import Effect, RunFinished, StartRipple
from pondage.kernel.demand.events import Done, Fail, Report, Verb
from pondage.kernel.demand.shape import PondKey
from pondage.simulate.host import Host

Planned = TypeVar("Planned", Report, Verb)


class Delivery(StrEnum):
    """How the reports of one instant reach the machine: as one step, or one after the other."""

    TOGETHER = "together"
    ONE_BY_ONE = "one by one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """The `count`-th execution of a Ripple (from 1), as the virtual worker sees it."""

    pond: PondKey
    ripple: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """What executions do: how long each takes and whether it then fails."""

    takes: Callable[[Execution], int]
    fails: Callable[[Execution], bool] = lambda _: False


@dataclass(slots=True, kw_only=True)
class Trace:
    """What happened: starts of Ripples and completed Runs as (time, freshness), in order."""

    starts: dict[tuple[PondKey, str], list[tuple[int, int]]] = field(default_factory=dict)
    completed: dict[PondKey, list[tuple[int, int]]] = field(default_factory=dict)
    steps: int = 0

    def executions(self, pond: PondKey, ripple: str) -> int:
        """How many executions of a Ripple were started?"""
        return len(self.starts.get((pond, ripple), ()))

    def runs(self, pond: PondKey) -> int:
        """How many Runs of a Pond completed?"""
        return len(self.completed.get(pond, ()))


def jittered(durations: Mapping[tuple[PondKey, str], int], share: float, seed: int) -> Callable[[Execution], int]:
    """Give durations that vary uniformly by `share` around their base; the same seed gives the same durations."""

    def takes(execution: Execution) -> int:
        base = durations[execution.pond, execution.ripple]
        if not share:
            return base
        # Seeded by the execution itself: the durations do not depend on the order in which executions start.
        place = f"{seed}/{execution.pond}/{execution.ripple}/{execution.count}"
        return max(round(base * random.Random(place).uniform(1 - share, 1 + share)), 1)

    return takes


class Simulation:
    """Plays clock, workers and operators for a host, instant by instant."""

    def __init__(
        self,
        host: Host,
        workers: Workers,
        *,
        delivery: Delivery = Delivery.TOGETHER,
        arrange: Callable[[list[Report]], Sequence[Report]] = lambda reports: reports,
        watch: Callable[[int, Sequence[Effect]], None] = lambda _now, _effects: None,
    ) -> None:
        """`arrange` orders the reports of an instant; `watch` is called after each step with what it decided."""
        self.host = host
        self.trace = Trace()
        self.now = 0
        self._workers = workers
        self._delivery = delivery
        self._arrange = arrange
        self._watch = watch
        self._reports: list[tuple[int, int, Report]] = []
        self._actions: list[tuple[int, int, Verb]] = []
        self._counts: Counter[tuple[PondKey, str]] = Counter()
        self._serial = 0

    def act(self, at: int, verb: Verb) -> None:
        """Have an operator do this at that time; actions of one instant keep the order in which they were given."""
        self._serial += 1
        heapq.heappush(self._actions, (at, self._serial, verb))

    def run_until(self, until: int) -> None:
        """Play every instant up to and including `until`."""
        while (instant := self._next()) is not None and instant <= until:
            self.now = max(instant, self.now)
            self._play()
        self.now = max(until, self.now)

    @property
    def is_idle(self) -> bool:
        """Is nothing executing, due or planned?"""
        return self._next() is None

    def _next(self) -> int | None:
        times = [queue[0][0] for queue in (self._reports, self._actions) if queue]
        timer = self.host.next_timer()
        if timer is not None:
            times.append(timer)
        return min(times, default=None)

    def _play(self) -> None:
        reports = list(self._arrange(_due(self._reports, self.now)))
        actions = _due(self._actions, self.now)
        if self._delivery is Delivery.ONE_BY_ONE:
            for report in reports:
                self._settle([report], [])
            reports = []
        timer = self.host.next_timer()
        if reports or actions or (timer is not None and timer <= self.now):
            self._settle(reports, actions)

    def _settle(self, reports: Sequence[Report], actions: Sequence[Verb]) -> None:
        effects = self.host.settle(self.now, reports, actions)
        self.trace.steps += 1
        for effect in effects:
            if isinstance(effect, StartRipple):
                self._execute(effect)
            elif isinstance(effect, RunFinished):
                self.trace.completed.setdefault(effect.pond, []).append((self.now, effect.freshness))
        self._watch(self.now, effects)

    def _execute(self, start: StartRipple) -> None:
        place = start.pond, start.ripple
        self._counts[place] += 1
        self.trace.starts.setdefault(place, []).append((self.now, start.freshness))
        execution = Execution(pond=start.pond, ripple=start.ripple, count=self._counts[place])
        event = Fail if self._workers.fails(execution) else Done
        report = event(pond=start.pond, ripple=start.ripple, attempt=start.attempt)
        self._serial += 1
        heapq.heappush(self._reports, (self.now + self._workers.takes(execution), self._serial, report))


def _due(queue: list[tuple[int, int, Planned]], now: int) -> list[Planned]:
    due: list[Planned] = []
    while queue and queue[0][0] <= now:
        due.append(heapq.heappop(queue)[2])
    return due
