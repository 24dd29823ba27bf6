"""What other schedulers would do with the same Ponds: run everything at an interval, or run on every change.

Each is a small host of its own, driven by the same simulation. Both are kinder than the usual: a Pond starts as soon
as its Sources are done (nobody guesses offsets), and what comes while it is busy is taken up in one Run afterwards.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pondage.kernel.demand import NEVER, Effect, Gate, PondKey, PondShape, PondState, Reason
from pondage.kernel.demand.effects import RunFinished, StartRipple, StartRun
from pondage.kernel.demand.events import Done, Report, Verb


@dataclass(slots=True, kw_only=True)
class _Line:
    """What a policy knows of one Pond."""

    shape: PondShape
    wanted: int = 0
    """The round (cron) or the number of changes (eager) that this Pond should have seen."""
    started: int = 0
    served: int = 0
    number: int = 0
    is_running: bool = False
    freshness: int = NEVER
    delay: int = 0
    next_freshness: int = NEVER
    next_delay: int = 0
    attempt: int = 0
    open: dict[str, int] = field(default_factory=dict)
    """The Ripples that execute, with their attempt."""
    done: set[str] = field(default_factory=set)
    retries_left: int = 0


class _PolicyHost:
    """What both policies share: starting a Pond, its Ripples in order, and publishing it when all are done."""

    def __init__(self) -> None:
        self._lines: dict[PondKey, _Line] = {}
        self._sinks: dict[PondKey, list[PondKey]] = {}
        self._effects: list[Effect] = []
        self._look: dict[PondKey, None] = {}

    def deploy(self, shapes: Sequence[PondShape], now: int) -> None:
        """Take the Ponds over; the first round is due at once."""
        self._lines = {shape.key: _Line(shape=shape) for shape in shapes}
        for shape in shapes:
            for source, _ in shape.sources:
                self._sinks.setdefault(source, []).append(shape.key)
        self._begin(now)

    def settle(self, now: int, reports: Sequence[Report], actions: Sequence[Verb]) -> Sequence[Effect]:  # noqa: ARG002 - nobody can ask these schedulers
        """Take in the reports, then everything that is due, and start what can start."""
        self._effects = []
        for report in reports:
            self._take(report, now)
        self._fire(now)
        while self._look:
            key = next(iter(self._look))
            del self._look[key]
            self._consider(self._lines[key], now)
        return self._effects

    def next_timer(self) -> int | None:
        """Give the time at which something is due."""
        raise NotImplementedError

    def states(self) -> Mapping[PondKey, PondState]:
        """Give nothing: these schedulers have no demand and so no states of the machine."""
        return {}

    def explain(self, key: PondKey, now: int) -> list[Gate]:  # noqa: ARG002 - they cannot explain anything
        """Give nothing: these schedulers have no reasons."""
        return []

    def close(self) -> None:
        """Hold nothing, release nothing."""

    def _begin(self, now: int) -> None:
        raise NotImplementedError

    def _fire(self, now: int) -> None:
        raise NotImplementedError

    def _told(self, source: _Line, sink: _Line) -> None:
        """A Source published: say what its Sink should have seen by now."""
        raise NotImplementedError

    def _inlets(self) -> Iterable[_Line]:
        return (line for line in self._lines.values() if line.shape.is_inlet)

    def _want(self, line: _Line, wanted: int) -> None:
        line.wanted = max(line.wanted, wanted)
        self._look[line.shape.key] = None

    def _consider(self, line: _Line, now: int) -> None:
        if line.is_running or line.wanted <= line.started:
            return
        found = self._read(line, now)
        if found is None:
            return
        line.next_freshness, line.next_delay = found
        line.is_running, line.started = True, line.wanted
        line.number += 1
        line.done.clear()
        line.retries_left = line.shape.retries.immediately
        self._effects.append(
            StartRun(
                pond=line.shape.key,
                reason=Reason.CLOCK,
                number=line.number,
                freshness=line.next_freshness,
                delay=line.next_delay,
                taken={source: self._lines[source].freshness for source, _ in line.shape.sources if self._has(source)},
            )
        )
        for ripple in line.shape.roots:
            self._execute(line, ripple)

    def _has(self, source: PondKey) -> bool:
        return source in self._lines and self._lines[source].freshness != NEVER

    def _read(self, line: _Line, now: int) -> tuple[int, int] | None:
        """Give freshness and delay of what a Run would read now; None when there is nothing yet."""
        shape = line.shape
        if shape.is_inlet:
            if shape.calendar is None:
                return now, 0
            window = shape.calendar.occurrence(now)
            if window is not None:
                return window[1], window[1] - window[0]
            # Between windows the outside still shows what it showed last.
            return None if line.freshness == NEVER else (line.freshness, line.delay)
        if shape.required and not all(self._has(source) for source in shape.required):
            return None
        known = [self._lines[source] for source in shape.gating if self._has(source)]
        if not known:
            return None
        choose = min if shape.required else max
        oldest = choose(known, key=lambda source: source.freshness)
        return oldest.freshness, max(one.delay for one in known if one.freshness == oldest.freshness)

    def _execute(self, line: _Line, ripple: str) -> None:
        line.attempt += 1
        line.open[ripple] = line.attempt
        self._effects.append(
            StartRipple(
                pond=line.shape.key,
                reason=Reason.RUN,
                ripple=ripple,
                number=line.number,
                freshness=line.next_freshness,
                attempt=line.attempt,
            )
        )

    def _take(self, report: Report, now: int) -> None:
        line = self._lines[report.pond]
        if line.open.get(report.ripple) != report.attempt:
            return
        del line.open[report.ripple]
        if not isinstance(report, Done):
            self._failed(line, report.ripple)
            return
        line.done.add(report.ripple)
        if not line.is_running:
            return
        for child in line.shape.children[report.ripple]:
            if line.done.issuperset(line.shape.ripples[child]):
                self._execute(line, child)
        if len(line.done) == len(line.shape.ripples):
            self._publish(line, now)

    def _failed(self, line: _Line, ripple: str) -> None:
        if line.is_running and line.retries_left > 0:
            line.retries_left -= 1
            self._execute(line, ripple)
            return
        # The Run is given up: siblings that execute end for nothing, and the next round tries again.
        line.is_running = False
        line.open.clear()
        self._look[line.shape.key] = None

    def _publish(self, line: _Line, now: int) -> None:  # noqa: ARG002 - a policy may look at the clock
        key = line.shape.key
        line.is_running = False
        line.freshness, line.delay, line.served = line.next_freshness, line.next_delay, line.started
        self._effects.append(
            RunFinished(
                pond=key, reason=Reason.COMPLETED, number=line.number, freshness=line.freshness, delay=line.delay
            )
        )
        self._look[key] = None
        for sink in self._sinks.get(key, ()):
            self._told(line, self._lines[sink])


class CronHost(_PolicyHost):
    """Every Pond once in an interval: the Inlets at the time itself, each Sink when all its Sources are through."""

    def __init__(self, interval: int, *, within: Callable[[int], bool] = lambda _: True) -> None:
        """`within` says at which moments there are rounds: a crontab may have them in office hours only."""
        super().__init__()
        if interval < 1:
            raise ValueError("the interval must be above zero")
        self._interval = interval
        self._within = within
        self._next = 0
        self._round = 0

    def next_timer(self) -> int | None:
        """Give the time of the next round."""
        return self._next

    def _begin(self, now: int) -> None:
        self._next = now

    def _fire(self, now: int) -> None:
        while self._next <= now:
            self._round += self._within(self._next)
            self._next += self._interval
        for line in self._inlets():
            if line.wanted < self._round:
                self._want(line, self._round)

    def _told(self, source: _Line, sink: _Line) -> None:  # noqa: ARG002 - all Sources count, not this one
        known = [self._lines[key] for key, _ in sink.shape.sources if key in self._lines]
        self._want(sink, min(line.served for line in known))


class EagerHost(_PolicyHost):
    """Every Pond whenever something it reads has changed, and an Inlet at every change outside.

    The outside of a live Inlet changes at each of `changes(key)` microseconds; that of an Inlet with windows whenever
    a window opens.
    """

    def __init__(self, changes: Mapping[PondKey, int]) -> None:
        super().__init__()
        self._changes = changes
        self._queue: list[tuple[int, PondKey]] = []

    def next_timer(self) -> int | None:
        """Give the time of the next change outside."""
        return self._queue[0][0] if self._queue else None

    def _begin(self, now: int) -> None:
        self._queue = [(now, line.shape.key) for line in self._inlets()]
        heapq.heapify(self._queue)

    def _fire(self, now: int) -> None:
        while self._queue and self._queue[0][0] <= now:
            at, key = heapq.heappop(self._queue)
            line = self._lines[key]
            calendar = line.shape.calendar
            following = at + self._changes[key] if calendar is None else calendar.next_start(now)
            if following is not None:
                heapq.heappush(self._queue, (following, key))
            self._want(line, line.wanted + 1)

    def _told(self, source: _Line, sink: _Line) -> None:  # noqa: ARG002 - any Source is reason enough
        self._want(sink, sink.wanted + 1)
