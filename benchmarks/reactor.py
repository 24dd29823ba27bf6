"""Reactors in memory: event to fire, and fires per second, beside a bare asyncio loop that has no rules at all.

Both get the same JSON events through the same kind of queue, decode them into the same type and call the same function.
The bare loop keeps a dictionary and flags; the reactor keeps versions, health, policies, commands and answers.
Rounds alternate, so that both meet the same noise. Goals: p50 at most 1.3× and below 1 ms, fires at least 0.45×.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
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


Feed = Callable[[str, bytes], None]
Drive = Callable[[Feed], Awaitable[None]]
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


async def ours(case: Case, sink: Sink, drive: Drive) -> None:
    """Drive a reactor in memory with an inline graph."""
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
        await drive(lambda name, text: offer(name, decode(text)))


async def bare(case: Case, sink: Sink, drive: Drive) -> None:
    """Drive a loop without any rule: a cache, flags, queues."""
    cache: dict[str, Tick | None] = dict.fromkeys(case.names)
    dirty: set[str] = set()
    queues: dict[str, deque[Tick]] = {name: deque() for name in case.names}
    decode = msgspec.json.Decoder(Tick).decode
    is_all, is_sequential = case.criteria == "all", case.strategy == "sequential"

    def feed(name: str, text: bytes) -> None:
        tick = decode(text)
        if is_sequential:
            queues[name].append(tick)
            if is_all:
                if all(queues.values()):
                    sink.fire(**{each: queue.popleft() for each, queue in queues.items()})
                return
            cache[name] = queues[name].popleft()
            sink.fire(**cache)
            return
        cache[name] = tick
        dirty.add(name)
        if not is_all or len(dirty) == len(cache):
            dirty.clear()
            sink.fire(**cache)

    await drive(feed)


async def paced(case: Case, feed: Feed, number: int) -> None:
    """Send events one by one through a queue, each some time after the other."""
    queue: asyncio.Queue[tuple[str, bytes] | None] = asyncio.Queue()

    async def consume() -> None:
        while (item := await queue.get()) is not None:
            feed(*item)

    consumer = asyncio.create_task(consume())
    names, encode = case.names, msgspec.json.encode
    for place in range(number):
        await asyncio.sleep(PACE_S)
        queue.put_nowait((names[place % len(names)], encode(Tick(time.perf_counter_ns(), place))))
    queue.put_nowait(None)
    await consumer


async def burst(case: Case, feed: Feed, number: int) -> float:
    """Feed events that are there already; answers the seconds."""
    names, encode = case.names, msgspec.json.encode
    events = [(names[place % len(names)], encode(Tick(0, place))) for place in range(number)]
    queue: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()
    for event in events:
        queue.put_nowait(event)
    began = time.perf_counter()
    for _ in range(number):
        feed(*(await queue.get()))
    return time.perf_counter() - began


Run = Callable[[Case, Sink, Drive], Awaitable[None]]


def waits(run: Run, case: Case) -> list[int]:
    """Measure the waits from event to fire, in nanoseconds."""
    sink = Sink()
    asyncio.run(run(case, sink, lambda feed: paced(case, feed, PACED)))  # type: ignore[arg-type]
    return sink.waits_ns[len(sink.waits_ns) // 10 :]  # the first tenth warms up


def rate(run: Run, case: Case) -> float:
    """Measure fires in a second."""
    sink, took = Sink(), [0.0]

    async def drive(feed: Feed) -> None:
        took[0] = await burst(case, feed, BURST)

    asyncio.run(run(case, sink, drive))  # type: ignore[arg-type]
    return len(sink.waits_ns) / took[0]


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
        rows.append(_row(f"fires per second, memory: {case}", round(mine), round(anchor), "/s", ROUNDS * BURST))
    return rows


def _row(what: str, mine: float, anchor: float, unit: str, n: int) -> Row:
    return Row(what=what, ours=mine, against="bare asyncio loop, memory", anchor=anchor, unit=unit, n=n)
