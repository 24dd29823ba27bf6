"""The world of a reaction scenario: graphs that take time and fail, accumulators, polls, streams, Ponds, crashes."""

import heapq
import itertools
from collections.abc import Callable

from pondage.conform.reaction_host import MakeReactorHost, ReactorHost
from pondage.conform.reaction_scenario import Delay, EnvironmentGiven, FaultGiven, ReactionScenario
from pondage.conform.reaction_trace import ReactionTrace
from pondage.kernel.reaction import Effect, Event, Kind, ReactorShape
from pondage.kernel.reaction.effects import (
    CancelFire,
    Connect,
    Poll,
    StartFire,
    StartSource,
    StopSource,
)
from pondage.kernel.reaction.events import (
    Accumulator,
    Blocked,
    Done,
    Polled,
    PondRun,
    Push,
    TargetEvent,
    Unblocked,
    WantEvent,
)

_WAITING = (WantEvent, TargetEvent, Blocked, Unblocked)


class ReactionWorld:
    """Plays one scenario on a host. Inside an instant: listed events, reports in the order caused, timers, crashes."""

    def __init__(self, scenario: ReactionScenario, make_host: MakeReactorHost) -> None:
        self.trace = ReactionTrace()
        self._env: EnvironmentGiven = scenario.env
        self._shape: ReactorShape = scenario.reactor.shape()
        self._until = scenario.until
        self._events = sorted(scenario.happenings(), key=lambda happening: happening[0])
        self._deaths = sorted(
            [(down, 0, None) for down, _, _ in scenario.deaths()]
            + [(up, 1, shape) for _, up, shape in scenario.deaths()],
            key=lambda death: death[:2],
        )
        self._now = 0
        self._is_up = False
        self._life = 0
        self._order = itertools.count()
        self._reports: list[tuple[int, int, Callable[[int], None]]] = []
        self._waiting: list[Event] = []
        self._incarnations: dict[str, int] = {}
        self._runs: dict[str, list[PondRun]] = {}
        self._cancelled: set[tuple[int, int, str]] = set()
        self._tries: dict[tuple[str, str], int] = {}
        self._failures: dict[int, int] = {}
        self._polled: dict[str, int] = {}
        self.host: ReactorHost = make_host(self._shape, self._perform, self._later, self._env.commit_ms)

    def play(self) -> ReactionTrace:
        """Run the scenario up to and with `until`."""
        self._rise(0)
        self._settle(0)
        while (at := self._next()) is not None and at <= self._until:
            self._now = max(self._now, at)
            while self._events and self._events[0][0] <= self._now:
                self._happen(self._events.pop(0)[1])
            self._settle(self._now)
            while self._deaths and self._deaths[0][0] <= self._now:
                _, is_rise, shape = self._deaths.pop(0)
                if is_rise:
                    self._rise(self._now, shape)
                else:
                    self._fall()
                self._settle(self._now)
        self._now = self._until
        self.trace.state = self.host.look()
        return self.trace

    def _next(self) -> int | None:
        times = [self._events[0][0]] if self._events else []
        times += [self._reports[0][0]] if self._reports else []
        times += [self._deaths[0][0]] if self._deaths else []
        timer = self.host.next_timer() if self._is_up else None
        times += [timer] if timer is not None else []
        return min(times, default=None)

    def _settle(self, now: int) -> None:
        while True:
            if self._reports and self._reports[0][0] <= now:
                heapq.heappop(self._reports)[2](now)
                continue
            timer = self.host.next_timer() if self._is_up else None
            if timer is None or timer > now:
                return
            self.host.tick(now)

    def _rise(self, now: int, shape: ReactorShape | None = None) -> None:
        if shape is not None:
            self.host.redeclare(shape)
            self._shape = shape
        self._is_up = True
        self._life += 1
        self.host.begin(now)
        waiting, self._waiting = self._waiting, []
        for event in waiting:
            self.host.feed(event, now)

    def _fall(self) -> None:
        self._is_up = False
        self._life += 1
        self.host.crash()
        for source in self._incarnations:
            self._incarnations[source] += 1

    def _happen(self, event: Event | list[object]) -> None:
        if isinstance(event, PondRun):
            self._runs.setdefault(event.source, []).append(event)
        if isinstance(event, Accumulator) and event.what == "crashed":
            self._end(event.source)
        if self._is_up:
            self.host.feed(event, self._now)
        elif isinstance(event, Push):
            if event.cid is not None:
                refusal = {"accepted": False, "error": "connection_refused"}
                self.trace.replies.append((self._now, event.cid, refusal))
        elif isinstance(event, _WAITING) or (isinstance(event, Done) and event.graph in self._shape.dispatched):
            self._waiting.append(event)

    def _later(self, at: int, call: Callable[[int], None]) -> None:
        heapq.heappush(self._reports, (at, next(self._order), call))

    def _report(self, after: int, event: Event, source: str | None = None) -> None:
        life, incarnation = self._life, self._incarnations.get(source or "", 0)

        def deliver(now: int) -> None:
            if life == self._life and (source is None or incarnation == self._incarnations.get(source, 0)):
                self.host.feed(event, now)
                if source is not None and isinstance(event, Accumulator) and event.what == "connected":
                    self._replay(source)

        self._later(self._now + after, deliver)

    def _perform(self, effect: Effect) -> None:
        self.trace.note(self._now, effect, self._shape)
        match effect:
            case StartFire():
                for graph in effect.graphs:
                    self._run(effect, graph)
            case CancelFire():
                for graph, number in zip(effect.graphs, effect.numbers, strict=True):
                    self._cancelled.add((effect.fire, number, graph))
            case StartSource(source):
                self._end(source)
                self._answer_after(self._env.start, source, Accumulator(source, "started"))
            case StopSource(source):
                self._end(source)
            case Connect(source, _):
                self._answer_after(self._env.connect, source, Accumulator(source, "connected"))
            case Poll(source):
                self._poll(source)

    def _end(self, source: str) -> None:
        self._incarnations[source] = self._incarnations.get(source, 0) + 1

    def _answer_after(self, delays: dict[str, Delay | list[Delay]], source: str, event: Accumulator) -> None:
        given = delays.get(source, 0)
        if isinstance(given, list):
            turn = self._tries.get((event.what, source), 0)
            self._tries[event.what, source] = turn + 1
            given = given[min(turn, len(given) - 1)] if given else 0
        if given is not None:
            self._report(given, event, source)

    def _replay(self, source: str) -> None:
        offset = self.host.offset(source)
        for at, value in self._env.log.get(source, []):
            if offset is None or at > offset:
                self._report(0, Push(source, value, None, at), source)
        runs = [run for run in self._runs.get(source, []) if offset is None or run.f > offset]
        if runs and self._shape.sources[source].kind is Kind.POND:
            runs.sort(key=lambda run: run.f)
            for run in runs if self._shape.is_sequential else runs[-1:]:
                self._report(0, run, source)

    def _poll(self, source: str) -> None:
        turn = self._polled.get(source, 0)
        self._polled[source] = turn + 1
        answers = self._env.polls.get(source, [])
        answer = answers[turn] if turn < len(answers) else None
        if isinstance(answer, dict) and "err" in answer:
            self._report(int(answer.get("takes", 0)), Polled(source, None, str(answer["err"])), source)
        else:
            self._report(0, Polled(source, answer), source)

    def _run(self, start: StartFire, graph: str) -> None:
        if self._env.hang and _matches(self._env.hang, start.inputs):
            return
        takes = self._env.takes if isinstance(self._env.takes, int) else self._env.takes.get(graph, 0)
        error = self._error(start.inputs, graph)
        event = Done(start.fire, start.attempt, graph, error is None, error)
        key, life, is_dispatched = (start.fire, start.attempt, graph), self._life, graph in self._shape.dispatched

        def report(now: int) -> None:
            if key in self._cancelled or (life != self._life and not is_dispatched):
                return
            if self._is_up:
                self.host.feed(event, now)
            else:
                self._waiting.append(event)

        self._later(self._now + takes, report)

    def _error(self, inputs: dict[str, object], graph: str) -> str | None:
        for place, fault in enumerate(self._env.fail):
            if _strikes(fault, inputs, graph, self._failures.get(place, 0)):
                self._failures[place] = self._failures.get(place, 0) + 1
                return fault.error
        return None


def _strikes(fault: FaultGiven, inputs: dict[str, object], graph: str, struck: int) -> bool:
    if fault.graph not in (None, graph) or (fault.times is not None and struck >= fault.times):
        return False
    return _matches(fault.when, inputs)


def _matches(when: dict[str, object], inputs: dict[str, object]) -> bool:
    return all(name in inputs and inputs[name] == value for name, value in when.items())
