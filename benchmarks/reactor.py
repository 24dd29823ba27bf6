"""Reactors: event to fire, and fires per second, beside a bare asyncio loop that has no rules, in memory and durable.

Both get the same JSON events, a line each, from one local socket for each source, decode them into the same type and
call the same function. The bare loop is what one writes without Pondage: a task for each source, a queue of boundaries,
a task that keeps a cache and flags and fires; the durable one writes what arrived, started and ended into a file of the
same level, a group at a time. The reactor keeps versions, health, policies, commands and answers too. Rounds alternate,
so that both meet the same noise. Two rates: *each by itself* wakes the loop for every event, as events that arrive do;
*from a full buffer* reads thousands that wait already. Goals, for the first: in memory p50 at most 1.3x and below 1 ms,
fires at least 0.45x; with a journal of the same level p50 at most 1.5x, fires at least 0.3x.
"""

from __future__ import annotations

import asyncio
import socket
import statistics
import tempfile
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.run import Row
from benchmarks.support.reactor_durable import BareJournal, BareReactor, ledger_in, owned_reactor
from pondage import Accumulator, Reactor
from pondage.engine.live.embedded import LiveReactor
from pondage.kernel.reaction import Facts

ROUNDS = 5
PACED = 1000
BURST = 6000
SINGLE = 3000
DURABLE_ROUNDS = 3
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
        self.finished: float | None = None

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


def _reactor(case: Case, sink: Sink, durable: bool | str) -> Reactor:
    reactor = Reactor(
        "bench",
        sources=[Accumulator(name, Tick) for name in case.names],
        criteria=case.criteria,
        strategy=case.strategy,
        durable=durable,
    )
    graph = {
        1: lambda s0: sink.fire(s0=s0),
        3: lambda s0, s1, s2: sink.fire(s0=s0, s1=s1, s2=s2),
    }[case.sources]
    reactor.graph(name="bench", inline=True)(graph)
    return reactor


@asynccontextmanager
async def ours(case: Case, sink: Sink) -> AsyncIterator[Lines]:
    """Run a reactor in memory with an inline graph."""
    decode = msgspec.json.Decoder(Tick).decode
    async with LiveReactor(_reactor(case, sink, durable=False)) as live:
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


def ours_durable(level: str, *, is_busy: bool) -> Run:
    """Give a reactor with its journal on a ledger; a busy ledger has worker commits beside it."""

    @asynccontextmanager
    async def run(case: Case, sink: Sink) -> AsyncIterator[Lines]:
        decode = msgspec.json.Decoder(Tick).decode
        async with owned_reactor(_reactor(case, sink, level), is_busy=is_busy) as owned:
            offer = owned.offer
            lines = await Lines().open(case, lambda name, text: offer(name, decode(text)))
            yield lines
            await lines.close()
            facts = owned.host.state.facts
            while facts.fire is not None or facts.plan or _waits(case, facts):
                await asyncio.sleep(0.0002)
            sink.finished = time.perf_counter()

    return run


def _waits(case: Case, facts: Facts) -> bool:
    """Answer whether something has arrived that could still be fired."""
    is_sequential = case.strategy == "sequential"
    waiting = [bool(each.queue) if is_sequential else each.seen > each.consumed for each in facts.sources.values()]
    return all(waiting) if case.criteria == "all" else any(waiting)


def bare_durable(level: str, *, is_busy: bool) -> Run:
    """Give a bare loop with a journal of its own at this level."""

    @asynccontextmanager
    async def run(case: Case, sink: Sink) -> AsyncIterator[Lines]:
        decode = msgspec.json.Decoder(Tick).decode
        with tempfile.TemporaryDirectory(prefix="pondage-bench-") as name, ledger_in(Path(name), is_busy=is_busy):
            journal = BareJournal(Path(name) / "journal.db", level)
            is_all, is_sequential = case.criteria == "all", case.strategy == "sequential"
            bare = BareReactor(case.names, journal, sink.fire, is_all=is_all, is_sequential=is_sequential)
            reacting = asyncio.create_task(bare.run())
            put = bare.boundaries.put_nowait
            lines = await Lines().open(case, lambda name, text: put((name, decode(text))))
            yield lines
            await lines.close()
            put(None)
            await reacting
            sink.finished = time.perf_counter()
            journal.close()

    return run


async def _paced(run: Run, case: Case, sink: Sink) -> None:
    names, encode = case.names, msgspec.json.encode
    async with run(case, sink) as lines:
        for place in range(PACED):
            await asyncio.sleep(PACE_S)
            text = encode(Tick(time.perf_counter_ns(), place))
            lines.writers[names[place % len(names)]].write(text + b"\n")


async def _sent(run: Run, case: Case, sink: Sink, *, count: int, is_single: bool) -> float:
    names, encode = case.names, msgspec.json.encode
    events = [(names[place % len(names)], encode(Tick(0, place)) + b"\n") for place in range(count)]
    async with run(case, sink) as lines:
        began = time.perf_counter()
        for name, text in events:
            writer = lines.writers[name]
            writer.write(text)
            if is_single:
                await asyncio.sleep(0)
            else:
                await writer.drain()
    return (sink.finished or time.perf_counter()) - began


def waits(run: Run, case: Case) -> list[int]:
    """Measure the waits from event to fire, in nanoseconds."""
    sink = Sink()
    asyncio.run(_paced(run, case, sink))
    return sink.waits_ns[len(sink.waits_ns) // 10 :]  # the first tenth warms up


def rate(run: Run, case: Case, *, is_single: bool) -> float:
    """Measure fires in a second; events in a second for Latest, which may take several events into one fire."""
    sink, count = Sink(), SINGLE if is_single else BURST
    took = asyncio.run(_sent(run, case, sink, count=count, is_single=is_single))
    return (count if case.strategy == "latest" else len(sink.waits_ns)) / took


def percentile(values: Sequence[int], part: float) -> float:
    """Answer a percentile in microseconds."""
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(part * len(ordered)))] / 1000, 1)


def run() -> list[Row]:
    """Measure every case on both, alternately, at every level."""
    rows = []
    for case in CASES:
        rows += _compared(case, ours, bare, "memory", rounds=ROUNDS)
    for level in ("process", "power"):
        for case in CASES:
            sides = ours_durable(level, is_busy=False), bare_durable(level, is_busy=False)
            rows += _compared(case, *sides, f"level {level}", rounds=DURABLE_ROUNDS)
        for case in (CASES[1], CASES[4]):
            sides = ours_durable(level, is_busy=True), bare_durable(level, is_busy=True)
            rows += _compared(case, *sides, f"level {level}, 20 worker commits/s", rounds=DURABLE_ROUNDS)
    return rows


def _compared(case: Case, mine: Run, other: Run, where: str, *, rounds: int) -> list[Row]:
    rows = []
    against = f"bare asyncio loop, {where}"
    pairs = [(waits(mine, case), waits(other, case)) for _ in range(rounds)]
    for part, name in ((0.5, "p50"), (0.99, "p99")):
        figures = [statistics.median(percentile(pair[side], part) for pair in pairs) for side in (0, 1)]
        rows.append(_row(f"event → fire {name}, {where}: {case}", figures, against, "µs", rounds * PACED))
    what = "events" if case.strategy == "latest" else "fires"
    for is_single, how in ((True, "each by itself"), (False, "from a full buffer")):
        rates = [(rate(mine, case, is_single=is_single), rate(other, case, is_single=is_single)) for _ in range(rounds)]
        figures = [round(statistics.median(pair[side] for pair in rates)) for side in (0, 1)]
        count = rounds * (SINGLE if is_single else BURST)
        rows.append(_row(f"{what} per second, {how}, {where}: {case}", figures, against, "/s", count))
    return rows


def _row(what: str, figures: list[float], against: str, unit: str, n: int) -> Row:
    return Row(what=what, ours=figures[0], against=against, anchor=figures[1], unit=unit, n=n)
