"""A reactor in the hands of its owner, in this process: levels, crashes, a journal that fails, a lease that is lost."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from pondage import Accumulator, Reactor
from pondage.define.reactor.reaction import ReactorDeclaration
from pondage.engine.live import journal as journal_module
from pondage.engine.live import pump as pump_module
from pondage.engine.live.owned import OwnedReactor
from pondage.kernel.reaction import Effect, State, living
from pondage.kernel.reaction.events import Push, Tick
from pondage.ledger.commit.journal import Batch, FileJournal
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.tables import actors, reactors
from tests.patience import PATIENCE_S

LEVELS = [False, "process", "power"]


class Price(msgspec.Struct):
    px: float


class Desk:
    """A ledger with one reactor and one process, in a folder of the test."""

    def __init__(self, folder: Path, durable: bool | str, **options: object) -> None:
        self.ledger = Ledger.open(f"sqlite:///{folder}/ledger.db")
        self.seen: list[object] = []
        self.reactor = Reactor(
            "quote",
            sources=[Accumulator("prices", Price), Accumulator.batch("lots", Price, size=2)],
            durable=durable,
            strategy="sequential",
            **options,  # type: ignore[arg-type]
        )

        @self.reactor.graph(inline=True)
        def note(prices: Price | None, lots: list[Price] | None) -> None:
            assert prices is None or isinstance(prices, Price)
            assert lots is None or all(isinstance(each, Price) for each in lots)
            self.seen.append((None if prices is None else prices.px, None if lots is None else len(lots)))

        self.declare(self.reactor)

    def declare(self, reactor: Reactor) -> None:
        self.reactor = reactor
        with self.ledger.transaction() as tx:
            environment = actors.made_environment(tx, "main")
            self.actor = reactors.put(
                tx, environment=environment, project="p", declaration=self.declaration, entry="m:q", code="c"
            )
            self.environment = environment

    @property
    def declaration(self) -> ReactorDeclaration:
        return self.reactor.declaration

    async def own(self) -> OwnedReactor:
        with self.ledger.transaction() as tx:
            tx.change("UPDATE actors SET owner = NULL, token = NULL")
            process = processes.register(
                tx, public_id=self.ledger.ids.new("p"), machine="m", pid=1, pid_started=1, role="live"
            )
            lease = reactors.claim(tx, actor=self.actor, process=process, token=self.ledger.ids.new("t"))
            row = reactors.find(tx, self.environment, "quote")
        assert lease is not None
        assert row is not None
        owned = OwnedReactor(self.ledger, row, lease, self.reactor)
        await owned.start()
        return owned

    def history(self) -> list[str]:
        with self.ledger.reading() as tx:
            return [str(row["kind"]) for row in tx.rows("SELECT kind FROM history ORDER BY id")]


def at_each_level(test: Callable[[Desk], Awaitable[None]]) -> Callable[[Path, bool | str], None]:
    @pytest.mark.parametrize("durable", LEVELS)
    def run(tmp_path: Path, durable: bool | str) -> None:
        desk = Desk(tmp_path, durable)
        try:
            asyncio.run(asyncio.wait_for(test(desk), PATIENCE_S))  # type: ignore[arg-type]
        finally:
            desk.ledger.close()

    run.__name__ = test.__name__
    return run


@at_each_level
async def test_an_acknowledged_boundary_is_typed_again_after_a_crash_at_every_level_that_keeps_it(desk: Desk) -> None:
    owned = await desk.own()
    assert (await owned.command("pause"))["hold"] == "paused"
    assert (await owned.push("prices", {"px": 1.5})).seq == 1
    assert (await owned.push("lots", {"px": 1})).accepted
    await owned.lose("a test")
    again = await desk.own()
    assert again.state()["hold"] == ("paused" if desk.declaration.durable else None)
    await again.push("lots", {"px": 2})
    await again.command("resume")
    await again.push("prices", Price(3.0))
    await again.drain(1_000_000)
    expected = [(1.5, None), (1.5, 2), (3.0, 2)] if desk.declaration.durable else [(3.0, None), (3.0, 1)]
    assert desk.seen == expected


@at_each_level
async def test_what_happens_to_a_reactor_is_history_at_every_level(desk: Desk) -> None:
    owned = await desk.own()
    await owned.command("pause")
    await owned.drain(0)
    assert desk.history() == ["reactor hold"]
    with desk.ledger.reading() as tx:
        row = reactors.find(tx, desk.environment, "quote")
    assert row is not None
    assert msgspec.json.decode(row.health)["state"] == "Stopped"


@at_each_level
async def test_a_signal_is_told_once_and_gone_when_its_records_are_durable(desk: Desk) -> None:
    owned = await desk.own()
    with desk.ledger.transaction() as tx:
        reactors.signal(tx, actor=desk.actor, payload=["push", "prices", {"px": 1}])
        reactors.signal(tx, actor=desk.actor, payload=["rubbish"])
        signals = reactors.signals(tx, desk.actor)
    owned.tell(signals)
    owned.tell(signals)
    await owned.drain(1_000_000)
    assert desk.seen == [] or len(desk.seen) == 1
    with desk.ledger.reading() as tx:
        assert reactors.signals(tx, desk.actor) == []


@at_each_level
async def test_a_reactor_that_crashes_begins_again_from_its_journal_after_a_while(desk: Desk) -> None:
    original, real_wait = pump_module.step, living.restart_wait

    def step(state: State, event: object, now: int) -> list[Effect]:
        if isinstance(event, Push) and event.value == Price(666.0):
            raise RuntimeError("a bug of ours")
        return original(state, event, now)

    owned = await desk.own()
    await owned.push("prices", {"px": 1})
    pump_module.step, living.restart_wait = step, _for_ever
    try:
        refused = await owned.push("prices", {"px": 666})
        assert refused.error == "unavailable"
        state = await owned.until(lambda state: state["state"] == "Starting")
        assert state["sources"]["prices"]["seen"] == (1 if desk.declaration.durable else 0)  # type: ignore[index]
        timers = owned.host.state.timers
        assert [what for what, _ in timers] == ["restart"]
    finally:
        pump_module.step, living.restart_wait = original, real_wait
    await owned.drain(0)
    assert desk.history() == ["reactor recovery"]


@at_each_level
async def test_a_reactor_that_crashes_again_and_again_fails_for_good(desk: Desk) -> None:
    original, real_wait = pump_module.step, living.restart_wait
    living.restart_wait = _for_ever
    owned = await desk.own()
    try:
        for attempt in range(1, 7):
            pump_module.step = _always_wrong
            owned.host.feed(Push("prices", Price(1.0)))
            pump_module.step = original
            state = await owned.until(lambda state: state["state"] in ("Starting", "Failed"))
            assert owned.host.state.facts.attempts == min(attempt, 5)
            while len(desk.history()) < attempt:
                await asyncio.sleep(0.001)  # The count is written before the backoff is over.
            owned.host.state.timers["restart", ""] = 0  # The backoff is over: nobody waits for it here.
            owned.host.feed(Tick())
    finally:
        pump_module.step, living.restart_wait = original, real_wait
    assert state["state"] == "Failed"
    await owned.drain(0)


def _for_ever(second: int, attempt: int) -> int:
    """A backoff that no slow machine outlives; tests end it themselves."""
    return second * 3600 * attempt


def _always_wrong(state: State, event: object, now: int) -> list[Effect]:
    raise RuntimeError("a bug of ours")


def test_an_old_owner_is_fenced_and_stops(tmp_path: Path) -> None:
    async def play(desk: Desk) -> None:
        old = await desk.own()
        await old.push("prices", {"px": 1})
        new = await desk.own()
        answer = await old.push("prices", {"px": 2})
        assert (answer.accepted, answer.error) == (False, "moved")
        assert old.is_lost
        assert (await new.push("prices", {"px": 3})).seq == 2
        await new.drain(1_000_000)

    desk = Desk(tmp_path, "power")
    asyncio.run(asyncio.wait_for(play(desk), PATIENCE_S))
    desk.ledger.close()


def test_a_journal_that_fails_degrades_holds_answers_throttles_and_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_full = False
    write = FileJournal.write

    def failing(self: FileJournal, batch: Batch) -> None:
        if is_full:
            raise LedgerUnavailable("disk full")
        write(self, batch)

    async def play(desk: Desk) -> None:
        nonlocal is_full
        owned = await desk.own()
        await owned.push("prices", {"px": 1})
        is_full = True
        waiting = asyncio.create_task(owned.push("prices", {"px": 2}))
        await owned.until(lambda state: state["state"] == "Degraded")
        more = asyncio.create_task(owned.push("prices", {"px": 3}))
        await asyncio.sleep(0)
        assert not waiting.done()
        assert owned.host.is_throttled
        is_full = False
        assert [(await each).seq for each in (waiting, more)] == [2, 3]
        await owned.until(lambda state: state["state"] == "Live")
        assert not owned.host.is_throttled
        await owned.drain(1_000_000)

    monkeypatch.setattr(FileJournal, "write", failing)
    monkeypatch.setattr(journal_module, "MOST_UNWRITTEN", 10)
    desk = Desk(tmp_path, "process")
    asyncio.run(asyncio.wait_for(play(desk), PATIENCE_S))
    desk.ledger.close()


def test_a_file_that_is_locked_for_too_long_is_no_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pondage.ledger.commit.journal.BUSY_TIMEOUT_S", 0.05)

    async def play(desk: Desk) -> None:
        owned = await desk.own()
        (path,) = (tmp_path / "ledger.db.reactors").glob("*.db")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(owned.push("prices", {"px": 2}))
        await owned.until(lambda state: state["state"] == "Degraded")
        other.execute("ROLLBACK")
        other.close()
        assert (await waiting).seq == 1
        await owned.drain(1_000_000)

    desk = Desk(tmp_path, "power")
    asyncio.run(asyncio.wait_for(play(desk), PATIENCE_S))
    desk.ledger.close()


def test_what_a_removed_source_had_pending_is_told_as_dropped(tmp_path: Path) -> None:
    async def change(desk: Desk) -> None:
        owned = await desk.own()
        await owned.push("lots", {"px": 1})
        await owned.drain(0)
        desk.declare(Reactor("quote", version="1.1.0", sources=[Accumulator("prices", Price)], strategy="sequential"))
        again = await desk.own()
        await again.drain(0)

    desk = Desk(tmp_path, "process")
    try:
        asyncio.run(asyncio.wait_for(change(desk), PATIENCE_S))
        with desk.ledger.reading() as tx:
            rows = tx.rows("SELECT payload FROM history WHERE kind = 'reactor dropped'")
        assert [str(row["payload"]) for row in rows] == ['{"reactor":"quote","source":"lots","number":1}']
    finally:
        desk.ledger.close()


class Counting:
    """A replayable stream of three prices."""

    async def read(self, after: int | None) -> AsyncIterator[tuple[int, object]]:
        for offset in range((after or 0) + 1, 4):
            yield offset, b'{"px": 1}'
        await asyncio.Event().wait()


def test_the_init_hook_gets_how_far_its_source_was_taken_in_by_the_life_before(tmp_path: Path) -> None:
    prices = Accumulator.stream("prices", Price, source=Counting())
    starts: list[int | None] = []

    @prices.init
    def started(checkpoint: int | None) -> None:
        starts.append(checkpoint)

    async def live_twice(desk: Desk) -> None:
        desk.declare(Reactor("quote", sources=[prices], strategy="sequential"))
        owned = await desk.own()
        await owned.until(lambda state: state["sources"]["prices"]["offset"] == 3)  # type: ignore[index]
        await owned.drain(0)
        again = await desk.own()
        await again.until(lambda state: state["state"] == "Live")
        await again.drain(0)

    desk = Desk(tmp_path, "process")
    try:
        asyncio.run(asyncio.wait_for(live_twice(desk), PATIENCE_S))
    finally:
        desk.ledger.close()
    assert starts == [None, 3]
