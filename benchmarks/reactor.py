"""Reactors in memory: event to fire, and fires per second, beside a bare asyncio loop that has no rules at all.

Both get the same JSON events, a line each, from one local socket for each source, decode them into the same type and
call the same function. The bare loop is what one writes without Pondage: a task for each source, a queue of boundaries,
a task that keeps a cache and flags and fires. The reactor keeps versions, health, policies, commands and answers too.
Rounds alternate, so that both meet the same noise. Goals: p50 at most 1.3× and below 1 ms, fires at least 0.45×.
"""

from __future__ import annotations

import asyncio
import socket
import statistics
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import msgspec

from benchmarks.run import Row
from pondage import Accumulator, Reactor
from pondage.engine.live.embedded import LiveReactor

ROUNDS = 5
PACED = 1000
BURST = 6000
PACE_S = 0.0004


class Tick(msgspec.Struct, frozen=True):
    """An event: when it was sent, and a number."""

    sent: int
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is measured: so many accumulators, a criterion, a strategy."""

    sources: int
    criteria: str
    strategy: str

    @property
    def names(self) -> list[str]:
        """Answer the names of the sources."""
        return [f"s{number}" for number in range(self.sources)]

    def __str__(self) -> str:
        return f"{self.sources} accumulator{'s' if self.sources > 1 else ''}, {self.criteria}, {self.strategy}"


CASES = [
    Case(sources=sources, criteria=criteria, strategy=strategy)
    for sources in (1, 3)
    for criteria in ("any", "all")
    for strategy in ("latest", "sequential")
]


class Sink:
    """The graph: notes how long the newest event took to get here."""

    def __init__(self) -> None:
        self.waits_ns: list[int] = []

    def fire(self, **inputs: Tick | None) -> None:
        """Be fired."""
        newest = max(tick.sent for tick in inputs.values() if tick is not None)
        self.waits_ns.append(time.perf_counter_ns() - newest)


class Lines:
    """One socket for each source, with a JSON text in each line, and a task that reads it: the way in, for both."""

    def __init__(self) -> None:
        self.writers: dict[str, asyncio.StreamWriter] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self, case: Case, feed: Callable[[str, bytes], None]) -> Lines:
        """Connect every source."""
        for name in case.names:
            near, far = socket.socketpair()
            reader, writer = await asyncio.open_connection(sock=near)
            _, self.writers[name] = await asyncio.open_connection(sock=far)
            self._tasks.append(asyncio.create_task(self._read(name, reader, writer, feed)))
        return self

    async def close(self) -> None:
        """Let everything through and end."""
        for writer in self.writers.values():
            writer.close()
        await asyncio.gather(*self._tasks)

    async def _read(
        self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, feed: Callable[[str, bytes], None]
    ) -> None:
        readline = reader.readline
        while text := await readline():
            feed(name, text)
        writer.close()


@asynccontextmanager
async def ours(case: Case, sink: Sink) -> AsyncIterator[Lines]:
    """Run a reactor in memory with an inline graph."""
    reactor = Reactor(
        "bench",
        sources=[Accumulator(name, Tick) for name in case.names],
        criteria=case.criteria,
        strategy=case.strategy,
        durable=False,
    )
    graph = {
        1: lambda s0: sink.fire(s0=s0),
        3: lambda s0, s1, s2: sink.fire(s0=s0, s1=s1, s2=s2),
    }[case.sources]
    reactor.graph(name="bench", inline=True)(graph)
    decode = msgspec.json.Decoder(Tick).decode
    async with LiveReactor(reactor) as live:
        offer = live.offer
        lines = await Lines().open(case, lambda name, text: offer(name, decode(text)))
        yield lines
        await lines.close()


@asynccontextmanager
async def bare(case: Case, sink: Sink) -> AsyncIterator[Lines]:
    """Run what one writes without Pondage: a task for each source, a queue of boundaries, a task that fires."""
    cache: dict[str, Tick | None] = dict.fromkeys(case.names)
    boundaries: asyncio.Queue[tuple[str, Tick] | None] = asyncio.Queue()
    decode = msgspec.json.Decoder(Tick).decode
    is_all, is_sequential = case.criteria == "all", case.strategy == "sequential"

    async def react() -> None:
        dirty: set[str] = set()
        queues: dict[str, deque[Tick]] = {name: deque() for name in case.names}
        while (item := await boundaries.get()) is not None:
            name, tick = item
            if is_sequential and is_all:
                queues[name].append(tick)
                if all(queues.values()):
                    sink.fire(**{each: queue.popleft() for each, queue in queues.items()})
                continue
            cache[name] = tick
            dirty.add(name)
            if not is_all or len(dirty) == len(cache):
                dirty.clear()
                sink.fire(**cache)

    reactor = asyncio.create_task(react())
    lines = await Lines().open(case, lambda name, text: boundaries.put_nowait((name, decode(text))))
    yield lines
    await lines.close()
    boundaries.put_nowait(None)
    await reactor


Run = Callable[[Case, Sink], AbstractAsyncContextManager[Lines]]


async def _paced(run: Run, case: Case, sink: Sink) -> None:
    names, encode = case.names, msgspec.json.encode
    async with run(case, sink) as lines:
        for place in range(PACED):
            await asyncio.sleep(PACE_S)
            text = encode(Tick(time.perf_counter_ns(), place))
            lines.writers[names[place % len(names)]].write(text + b"\n")


async def _burst(run: Run, case: Case, sink: Sink) -> float:
    names, encode = case.names, msgspec.json.encode
    events = [(names[place % len(names)], encode(Tick(0, place)) + b"\n") for place in range(BURST)]
    began = time.perf_counter()
    async with run(case, sink) as lines:
        for name, text in events:
            writer = lines.writers[name]
            writer.write(text)
            await writer.drain()
    return time.perf_counter() - began


def waits(run: Run, case: Case) -> list[int]:
    """Measure the waits from event to fire, in nanoseconds."""
    sink = Sink()
    asyncio.run(_paced(run, case, sink))
    return sink.waits_ns[len(sink.waits_ns) // 10 :]  # the first tenth warms up


def rate(run: Run, case: Case) -> float:
    """Measure fires in a second; events in a second for Latest, which may take several events into one fire."""
    sink = Sink()
    took = asyncio.run(_burst(run, case, sink))
    return (BURST if case.strategy == "latest" else len(sink.waits_ns)) / took


def percentile(values: Sequence[int], part: float) -> float:
    """Answer a percentile in microseconds."""
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(part * len(ordered)))] / 1000, 1)


def run() -> list[Row]:
    """Measure every case on both, alternately."""
    rows = []
    for case in CASES:
        pairs = [(waits(ours, case), waits(bare, case)) for _ in range(ROUNDS)]
        for part, name in ((0.5, "p50"), (0.99, "p99")):
            mine = statistics.median(percentile(pair[0], part) for pair in pairs)
            anchor = statistics.median(percentile(pair[1], part) for pair in pairs)
            rows.append(_row(f"event → fire {name}, memory: {case}", mine, anchor, "µs", ROUNDS * PACED))
        rates = [(rate(ours, case), rate(bare, case)) for _ in range(ROUNDS)]
        mine, anchor = (statistics.median(pair[side] for pair in rates) for side in (0, 1))
        what = "events" if case.strategy == "latest" else "fires"
        rows.append(_row(f"{what} per second, memory: {case}", round(mine), round(anchor), "/s", ROUNDS * BURST))
    return rows


def _row(what: str, mine: float, anchor: float, unit: str, n: int) -> Row:
    return Row(what=what, ours=mine, against="bare asyncio loop, memory", anchor=anchor, unit=unit, n=n)
