"""Running the graphs of a fire: inline on the loop, async as a task, plain ones in a thread."""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter_ns
from typing import NamedTuple, cast

from pondage.define.reactor.boundary import kept_text
from pondage.define.reactor.graph import Fire, GraphRunner
from pondage.engine.live.calls import Call
from pondage.engine.live.latencies import Latencies
from pondage.kernel.reaction.effects import CancelFire, StartFire
from pondage.kernel.reaction.events import Done, Event

Report = Callable[[Event], None]
Result = Callable[[Fire, str, object], None]
"""Called with the fire, the graph and what it gave, before the graph is reported."""
THREADS = 8


class _Former(NamedTuple):
    """What an attempt runs that was begun before other graphs were bound."""

    attempt: tuple[int, int]
    runners: Mapping[str, GraphRunner]
    on_result: Result | None

    def is_of(self, fire: Fire) -> bool:
        """Answer whether this is that attempt."""
        return self.attempt == (fire.id, fire.attempt)


class Graphs:
    """The graphs that run. A report counts only while the run that it belongs to is the one that is known (H3)."""

    def __init__(
        self, runners: Mapping[str, GraphRunner], report: Report, on_result: Result | None, call: Call
    ) -> None:
        self._runners = dict(runners)
        self._call = call
        self._report = report
        self._on_result = on_result
        self.latencies = Latencies()
        self._running: dict[tuple[int, int, str], asyncio.Future[object]] = {}
        self._former: _Former | None = None
        self._threads: ThreadPoolExecutor | None = None

    def rebind(
        self, runners: Mapping[str, GraphRunner], on_result: Result | None, open_fire: tuple[int, int] | None
    ) -> None:
        """Run these graphs from the next attempt on; the open one (fire, attempt) keeps those of its beginning."""
        if open_fire is None:
            self._former = None
        elif self._former is None or self._former.attempt != open_fire:
            self._former = _Former(open_fire, self._runners, self._on_result)
        self._runners, self._on_result = dict(runners), on_result

    def start(self, effect: StartFire) -> None:
        """Run the graphs of a fire."""
        fire = Fire(effect.fire, effect.attempt, effect.reason, effect.unhealthy)
        runners: Mapping[str, GraphRunner] = self._runners
        if self._former is not None and self._former.is_of(fire):
            runners = self._former.runners
        for graph in effect.graphs:
            runner = runners.get(graph)
            if runner is None:
                self._end(fire, graph, None, f"no graph {graph} is loaded")
            elif runner.is_inline:
                self._run_inline(runner, effect.inputs, fire)
            elif not runner.is_dispatched:  # A worker has that: the ledger tells how it ended.
                self._run_aside(runner, effect.inputs, fire)

    def cancel(self, effect: CancelFire) -> None:
        """Stop graphs; one in a thread goes on, and its report does not count."""
        for graph, number in zip(effect.graphs, effect.numbers, strict=True):
            running = self._running.pop((effect.fire, number, graph), None)
            if running is not None:
                running.cancel()

    async def close(self) -> None:
        """Stop everything that runs."""
        running, self._running = list(self._running.values()), {}
        for future in running:
            future.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _run_inline(self, runner: GraphRunner, inputs: Mapping[str, object], fire: Fire) -> None:
        began = perf_counter_ns()
        result, error = None, None
        self._call.begin()
        try:
            result = runner.call(inputs, fire)
        except Exception as raised:  # noqa: BLE001 - a graph that raises is a failed fire, and that is recorded
            error = _text(raised)
        self._call.end()
        self.latencies.took((perf_counter_ns() - began) // 1000)
        self._end(fire, runner.name, result, error)

    def _run_aside(self, runner: GraphRunner, inputs: Mapping[str, object], fire: Fire) -> None:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[object]
        if runner.is_async:
            future = loop.create_task(_awaited(runner, inputs, fire))
        else:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="graph")
            future = loop.run_in_executor(self._threads, runner.call, inputs, fire)
        self._running[fire.id, fire.attempt, runner.name] = future
        self._call.begin()
        future.add_done_callback(functools.partial(self._came_back, fire, runner.name, perf_counter_ns()))

    def _came_back(self, fire: Fire, graph: str, began: int, future: "asyncio.Future[object]") -> None:
        self._call.end()
        key = (fire.id, fire.attempt, graph)
        if self._running.get(key) is not future:
            if not future.cancelled():
                future.exception()  # looked at, so that nobody warns about it
            return
        del self._running[key]
        self.latencies.took((perf_counter_ns() - began) // 1000)
        if future.cancelled():
            self._end(fire, graph, None, "cancelled")
            return
        error = future.exception()
        self._end(fire, graph, None if error else future.result(), None if error is None else _text(error))

    def _end(self, fire: Fire, graph: str, result: object, error: str | None) -> None:
        on_result = self._on_result
        if self._former is not None and self._former.is_of(fire):
            on_result = self._former.on_result
        if error is None and on_result is not None:
            try:
                on_result(fire, graph, result)
            except Exception as wrong:  # noqa: BLE001 - a result that cannot be taken in is a failed fire
                error = _text(wrong)
        self._report(Done(fire.id, fire.attempt, graph, error is None, error))


async def _awaited(runner: GraphRunner, inputs: Mapping[str, object], fire: Fire) -> object:
    result = runner.call(inputs, fire)
    return await cast(Awaitable[object], result) if inspect.isawaitable(result) else result


def _text(error: BaseException) -> str:
    return kept_text(f"{type(error).__name__}: {error}")
