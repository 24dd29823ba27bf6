"""What every replayable source of reactors must stand: rubbish, floods, deaths, hangs, and crashes of its host."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Protocol

from pondage import Accumulator, Fire, Reactor
from pondage.define.reactor.accumulator import LanedSource, StreamSource
from pondage.engine.live.embedded import LiveReactor
from pondage.engine.live.owned import OwnedReactor
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.tables import actors, reactors
from tests.patience import PATIENCE_S


class Feeder(Protocol):
    """A real source and the other end of it."""

    source: StreamSource | LanedSource

    def put(self, texts: Iterable[str]) -> None: ...

    def text(self, raw: object) -> str: ...

    def die(self) -> None: ...

    def come_back(self) -> None: ...


def made(feeder: Feeder, *, durable: bool | str = False, capacity: int = 1024) -> tuple[Reactor, list[int]]:
    numbers = Accumulator.stream("numbers", int, source=feeder.source, capacity=capacity)

    @numbers.process
    def parse(raw: object) -> int:
        return int(feeder.text(raw))

    reactor = Reactor("reader", sources=[numbers], strategy="sequential", durable=durable)
    seen: list[int] = []
    fires: set[int] = set()

    @reactor.graph
    async def note(numbers: int | None, fire: Fire) -> None:
        await asyncio.sleep(0)
        assert numbers is not None
        if fire.id not in fires:  # A fire may be called again after a crash, with the same inputs.
            fires.add(fire.id)
            seen.append(numbers)

    return reactor, seen


def health(live: LiveReactor | OwnedReactor) -> str:
    sources = live.state()["sources"]
    assert isinstance(sources, dict)
    return str(sources["numbers"]["health"])


async def until(live: LiveReactor | OwnedReactor, condition: Callable[[], bool]) -> None:
    await asyncio.wait_for(live.until(lambda _: condition()), PATIENCE_S)


async def reads_in_order_and_keeps_rubbish_as_dead_letters(feeder: Feeder) -> None:
    reactor, seen = made(feeder)
    async with reactor.run() as live:
        feeder.put(["1"])
        await until(live, lambda: seen == [1])
        feeder.put(["2"])
        await until(live, lambda: seen == [1, 2])
        feeder.put(["rubbish"])
        await until(live, lambda: len(live.dead()) == 1)
        feeder.put(["3"])
        await until(live, lambda: seen == [1, 2, 3])
        assert "rubbish" in str(live.dead()[0]["error"])
        assert live.dead()[0]["raw"]


async def takes_a_flood_without_losing_or_repeating(feeder: Feeder, size: int = 400) -> None:
    reactor, seen = made(feeder, capacity=5)
    async with reactor.run() as live:
        feeder.put(str(number) for number in range(size))
        await until(live, lambda: len(seen) >= size)
        await live.idle()
    assert sorted(seen) == list(range(size))


async def is_disconnected_by_a_death_and_reads_on_afterwards(feeder: Feeder) -> None:
    reactor, seen = made(feeder)
    async with reactor.run() as live:
        feeder.put(["1"])
        await until(live, lambda: seen == [1])
        await asyncio.to_thread(feeder.die)
        await until(live, lambda: health(live) == "Disconnected")
        await asyncio.to_thread(feeder.come_back)
        await until(live, lambda: health(live) == "Live")
        feeder.put(["2"])
        await until(live, lambda: seen == [1, 2])


async def is_lost_when_it_hangs(feeder: Feeder) -> None:
    reactor, _ = made(feeder)
    async with reactor.run() as live:
        await until(live, lambda: health(live) in ("Connecting", "Disconnected"))
        await until(live, lambda: health(live) == "Disconnected")


class Lives:
    """A reactor of one source on a ledger of its own, owned by one host after the other."""

    def __init__(self, feeder: Feeder, folder: Path) -> None:
        self._reactor, self.seen = made(feeder, durable="process")
        self.ledger = Ledger.open(f"sqlite:///{folder}/ledger.db")
        with self.ledger.transaction() as tx:
            environment = actors.made_environment(tx, "main")
            self._environment = environment
            self._actor = reactors.put(tx, environment=environment, project="p", declaration=self._reactor.declaration)

    async def next(self) -> OwnedReactor:
        """Begin a life; the one before must be over."""
        with self.ledger.transaction() as tx:
            tx.change("UPDATE actors SET owner = NULL, token = NULL")
            process = processes.register(
                tx, public_id=self.ledger.ids.new("p"), machine="m", pid=1, pid_started=1, role="live"
            )
            lease = reactors.claim(tx, actor=self._actor, process=process, token=self.ledger.ids.new("t"))
            row = reactors.find(tx, self._environment, "reader")
        assert lease is not None
        assert row is not None
        owned = OwnedReactor(self.ledger, row, lease, self._reactor)
        await owned.start()
        return owned


async def goes_on_behind_the_journaled_offset_after_a_crash(feeder: Feeder, folder: Path) -> None:
    lives = Lives(feeder, folder)
    first = await lives.next()
    feeder.put(["1", "2"])
    await until(first, lambda: sorted(lives.seen) == [1, 2])
    await first.lose("as if it had crashed")
    feeder.put(["3"])
    second = await lives.next()
    await until(second, lambda: lives.seen[2:] == [3])
    await second.drain(1_000_000)
    lives.ledger.close()


async def takes_nothing_twice_in_the_next_life(feeder: Feeder, folder: Path) -> None:
    lives = Lives(feeder, folder)
    first = await lives.next()
    await until(first, lambda: sorted(lives.seen) == [1, 2])
    await first.lose("as if it had crashed")
    second = await lives.next()
    feeder.put(["3"])
    await until(second, lambda: len(lives.seen) > 2)
    assert lives.seen[2:] == [3]
    await second.drain(1_000_000)
    lives.ledger.close()


def run(work: Awaitable[None]) -> None:
    async def call() -> None:
        await work

    asyncio.run(call())
