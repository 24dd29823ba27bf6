"""The read log: what is noted is written aside, in groups, ages, and goes."""

from __future__ import annotations

import threading

import pytest

from pondage.define.values.names import PondKey
from pondage.errors import LedgerError
from pondage.kernel.demand.events import Pulse
from pondage.ledger.act import questions
from pondage.ledger.act.shown_tables import Reader
from pondage.ledger.database.driver import LedgerUnavailable, Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import reads
from pondage.ledger.tables.environments import environment_id
from pondage.ledger.tables.read_log import ReadLog
from pondage.ledger.tables.reads import MINUTE_US, ReadRow
from pondage.ledger.upkeep import pruning
from tests.ledger.harness import SECOND, World, pond

MINUTE = 60 * SECOND
DAY = 1_440 * MINUTE
ANNA = Reader("anna", "query")


@pytest.fixture
def read_world(world: World) -> World:
    world.ledger.reads = ReadLog(world.ledger.transaction, pause=lambda _: True)
    world.deploy(pond("orders"), pond("sales", sources={"orders": True}, ripples={"clean": [], "sales": ["clean"]}))
    world.send(Pulse(pond="sales@1"))
    world.worker().drain()
    return world


def logged(world: World) -> list[ReadRow]:
    world.ledger.reads.flush()
    with world.ledger.reading() as tx:
        return reads.between(tx, environment_id(tx, "main"), first=0, last=tx.now // MINUTE_US)


def ask(world: World, sql: str, *names: str, reader: Reader = ANNA) -> None:
    questions.submit(world.ledger, "main", sql, limit=10, tables=frozenset(names), reader=reader)


def note(ledger: Ledger, at: int, *, name: str = "orders@1", run: int = 1, reader: str = "anna") -> None:
    ledger.reads.note(
        environment=1, pond=PondKey(name), run=run, door="sql", reader=reader, at=at, age=3 * SECOND, size=10
    )


def test_a_question_is_logged_with_its_ponds_and_never_with_its_text(read_world: World) -> None:
    ask(read_world, "select 'secret' from orders, sales, sales.clean", "orders", "sales")
    ask(read_world, "select * from orders", "orders")
    found = logged(read_world)
    assert [(row.pond, row.door, row.reader, row.count, row.bytes) for row in found] == [
        ("orders@1", "query", "anna", 2, 20),
        ("sales@1", "query", "anna", 1, 20),
    ]
    assert all(row.age > 0 for row in found)
    for table in ("reads", "read_leases"):
        assert "secret" not in str(read_world.rows(f"SELECT * FROM {table}"))


def test_only_words_in_a_text_that_nobody_understood_are_no_read(read_world: World) -> None:
    questions.submit(read_world.ledger, "main", "orders !", limit=1, tables=None, reader=ANNA)
    assert logged(read_world) == []


def test_a_run_knows_when_it_was_first_read(read_world: World) -> None:
    assert read_world.one("SELECT count(read_at) FROM runs") == 0
    ask(read_world, "select 1 from orders", "orders")
    logged(read_world)
    first = read_world.one("SELECT r.read_at FROM runs r JOIN ponds p ON p.id = r.pond WHERE p.name = 'orders'")
    assert first is not None
    read_world.clock.time += MINUTE
    ask(read_world, "select 1 from orders", "orders")
    logged(read_world)
    assert read_world.rows("SELECT read_at FROM runs WHERE read_at IS NOT NULL") == [{"read_at": first}]


def test_a_group_is_one_transaction_and_listeners_are_in_it(read_world: World) -> None:
    log = read_world.ledger.reads
    told: list[tuple[int, frozenset[int]]] = []
    log.listeners.append(lambda _tx, sums, first: told.append((sum(each.times for each in sums.values()), first)))
    at = read_world.clock.time
    before = read_world.ledger.driver.counts.transactions
    for each in range(1_000):
        note(read_world.ledger, at, reader=f"r{each % 3}")
    log.flush()
    assert read_world.ledger.driver.counts.transactions - before <= 2, "the thread may have begun before"
    log.flush()
    assert sum(times for times, _ in told) == 1_000
    assert frozenset().union(*(first for _, first in told)) == {1}
    assert sorted((row.reader, row.count) for row in logged(read_world)) == [("r0", 334), ("r1", 333), ("r2", 333)]


def test_the_thread_waits_between_its_transactions(world: World) -> None:
    paused, go_on = threading.Semaphore(0), threading.Semaphore(0)

    def pause(_seconds: float) -> bool:
        paused.release()
        return not go_on.acquire(timeout=30)

    log = world.ledger.reads = ReadLog(world.ledger.transaction, pause=pause)
    world.deploy(pond("orders"))
    groups: list[int] = []
    log.listeners.append(lambda _tx, sums, _first: groups.append(sum(each.times for each in sums.values())))
    note(world.ledger, 0)
    assert paused.acquire(timeout=30)
    for _ in range(5):
        note(world.ledger, 0)
    assert groups == [1], "nothing is written while it pauses"
    go_on.release()
    assert paused.acquire(timeout=30)
    assert groups == [1, 5]
    go_on.release()
    log.close()


def test_what_cannot_be_written_is_kept_for_the_next_time(read_world: World) -> None:
    log = read_world.ledger.reads

    def refuse(_tx: Transaction, _sums: object, _first: object) -> None:
        raise LedgerUnavailable("the disk is full")

    log.listeners.append(refuse)
    note(read_world.ledger, read_world.clock.time)
    with pytest.raises(LedgerError):
        log.flush()
    note(read_world.ledger, read_world.clock.time)
    log.listeners.clear()
    log.close()
    assert [row.count for row in logged(read_world)] == [2]


def test_a_closed_ledger_has_written_what_was_read(world: World) -> None:
    world.deploy(pond("orders"))
    note(world.ledger, 0)
    world.ledger.reads.close()
    assert [row.count for row in logged(world)] == [1]


def test_minutes_become_quarters_after_a_week_and_go_after_the_days_that_are_kept(read_world: World) -> None:
    start = read_world.clock.time = 40 * DAY
    for minute in (0, 1, 14, 15, 29, 31):
        note(read_world.ledger, start + minute * MINUTE)
    read_world.ledger.reads.flush()
    read_world.clock.time = start + 7 * DAY + 20 * MINUTE
    note(read_world.ledger, read_world.clock.time)
    pruning.prune(read_world.ledger)
    assert [(row.minute - start // MINUTE, row.count, row.age) for row in logged(read_world)] == [
        (0, 3, 9 * SECOND),
        (15, 1, 3 * SECOND),
        (29, 1, 3 * SECOND),
        (31, 1, 3 * SECOND),
        (7 * 1_440 + 20, 1, 3 * SECOND),
    ], "a quarter that is not a week old as a whole keeps its minutes"
    read_world.clock.time = start + 8 * DAY
    pruning.prune(read_world.ledger)
    assert [(row.minute - start // MINUTE, row.count) for row in logged(read_world)][:3] == [(0, 3), (15, 2), (30, 1)]
    read_world.clock.time = start + 121 * DAY
    pruning.prune(read_world.ledger)
    assert [row.minute - start // MINUTE for row in logged(read_world)] == [7 * 1_440 + 15]
    read_world.clock.time = start + 128 * DAY
    pruning.prune(read_world.ledger)
    assert logged(read_world) == []
