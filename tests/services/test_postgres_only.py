"""What only a server has: its own clock, connections that end, restarts, notifications."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress

import psycopg
import pytest

from pondage.define.project.durability import Durability
from pondage.kernel.demand.events import Tap
from pondage.ledger.database.dialect import translated
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.ledger.database.migrate import migrate
from pondage.ledger.database.postgres import PostgresDriver
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.upkeep import reap
from tests.ledger.harness import Worker, World, pond
from tests.patience import PATIENCE_S
from tests.services.postgres import PostgresServer, wait_until


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that a test may stop."""
    server = PostgresServer()
    yield server
    server.close()


def real_world(server: PostgresServer, schema: str, durability: Durability) -> World:
    """A ledger that goes by the server's clock."""
    server.new_schema(schema)
    world = World.__new__(World)
    driver = PostgresDriver(server.url, schema=schema)
    migrate(driver)
    world.ledger = Ledger(driver, durability=durability)
    return world


def test_statements_are_translated_with_their_locks_and_names() -> None:
    made = translated("SELECT a FROM t WHERE b = :b AND c LIKE '5%' AND d = :d AND e > :b /*lock skip of t*/")
    assert made.text.decode() == (
        "SELECT a FROM t WHERE b = $1 AND c LIKE '5%' AND d = $2 AND e > $1 FOR NO KEY UPDATE OF t SKIP LOCKED"
    )
    assert made.names == ("b", "d")
    assert translated("SELECT x::bigint, :now /*share*/").text == b"SELECT x::bigint, $1 FOR KEY SHARE"
    assert translated("SELECT :clock", clock=":now").names == ("now",), "a test's clock is a value itself"


def test_what_was_written_before_a_block_stays_when_the_block_is_undone_before_anything_was_sent(
    postgres: PostgresServer,
) -> None:
    driver = PostgresDriver(postgres.url, schema="pg_temp")
    with driver.transaction() as tx:
        tx.change("CREATE TEMP TABLE kept (a text)")
    with driver.transaction() as tx:
        tx.write("INSERT INTO kept VALUES ('before')")
        with suppress(ZeroDivisionError), tx.savepoint():
            tx.write("INSERT INTO kept VALUES ('inside')")
            raise ZeroDivisionError
        tx.write("INSERT INTO kept VALUES ('behind')")
    with driver.reading() as tx:
        assert [row["a"] for row in tx.rows("SELECT a FROM kept")] == ["before", "behind"]
    driver.close()


def test_time_is_the_servers(postgres: PostgresServer) -> None:
    driver = PostgresDriver(postgres.url)
    with psycopg.connect(postgres.url) as connection, driver.reading() as tx:
        row = connection.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").fetchone()
        assert row is not None
        assert abs(tx.now - row[0]) < 60_000_000
        age = tx.server_age_us()
        assert age is not None
        assert age > 0
    driver.close()


def test_a_process_whose_connection_ended_is_reaped_before_the_threshold(own_server: PostgresServer) -> None:
    durability = Durability(heartbeat_s=0.02, reap_after_s=1_000)
    world = real_world(own_server, "gone", durability)
    world.deploy(pond("orders"))
    world.ledger.durability = Durability(heartbeat_s=0.02, reap_after_s=0.1)
    world.send(Tap(pond="orders@1"))
    other = PostgresDriver(own_server.url, schema="gone")
    worker, alive = Worker(world, pid=1), Worker(world, pid=2)
    world.ledger.durability = durability
    with other.transaction() as tx:
        processes.beat(tx, worker.id)
    with world.ledger.transaction() as tx:
        processes.beat(tx, alive.id)
    held = worker.claim()
    assert held is not None
    with world.ledger.reading() as tx:
        age = tx.server_age_us()
    assert age is not None
    # The server must have been up for one threshold; with this one that would take too long, so it is made short.
    world.ledger.durability = Durability(heartbeat_s=0.0001, reap_after_s=age / 1_000_000)
    assert not any(each.process == worker.row.public_id for each in reap.reap_stale(world.ledger, process=alive.id))
    other.close()
    wait_until(lambda: bool(reap.reap_stale(world.ledger, process=alive.id)))
    assert alive.row.id == alive.id, "whose connection lives is not reaped"
    world.ledger.close()


def test_nobody_is_reaped_for_an_outage_of_the_server(own_server: PostgresServer) -> None:
    world = real_world(own_server, "grace", Durability(heartbeat_s=0.001, reap_after_s=0.01))
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    worker = Worker(world)
    assert worker.claim() is not None
    own_server.stop()
    with pytest.raises(LedgerUnavailable), world.ledger.transaction():
        pass
    own_server.start()
    world.ledger.durability = Durability(heartbeat_s=1, reap_after_s=1_000)
    assert reap.reap_stale(world.ledger, process=None) == []
    with world.ledger.transaction() as tx:
        tx.change("UPDATE processes SET heartbeat_at = 0")
    assert reap.reap_stale(world.ledger, process=None) == [], "the server is younger than the threshold"
    world.ledger.durability = Durability(heartbeat_s=0.001, reap_after_s=0.01)
    wait_until(lambda: bool(reap.reap_stale(world.ledger, process=None)))
    assert Worker(world).claim() is not None
    world.ledger.close()


def test_a_commit_elsewhere_ends_a_wait(postgres: PostgresServer) -> None:
    world = real_world(postgres, "wake", Durability())
    watching = PostgresDriver(postgres.url, schema="wake")
    changes = watching.changes()
    changes.wait(PATIENCE_S)
    woken = threading.Event()

    def wait() -> None:
        while not changes.wait(1):
            pass
        woken.set()

    thread = threading.Thread(target=wait)
    thread.start()
    world.deploy(pond("orders"))
    assert woken.wait(PATIENCE_S)
    thread.join()
    changes.close()
    world.ledger.close()
    watching.close()


def test_two_starters_migrate_once(postgres: PostgresServer) -> None:
    postgres.new_schema("starters")
    drivers = [PostgresDriver(postgres.url, schema="starters") for _ in range(4)]
    threads = [threading.Thread(target=migrate, args=(driver,)) for driver in drivers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with drivers[0].reading() as tx:
        assert len(tx.rows("SELECT version FROM schema_version")) == 1
    for driver in drivers:
        driver.close()


def test_a_wait_ends_as_soon_as_somebody_rings(postgres: PostgresServer) -> None:
    driver = PostgresDriver(postgres.url)
    changes = driver.changes()
    assert changes.wait(PATIENCE_S), "it begins to listen"
    ended: list[bool] = []
    thread = threading.Thread(target=lambda: ended.append(changes.wait(600)))
    thread.start()
    changes.wake()
    thread.join(PATIENCE_S)
    assert ended == [True]
    assert not changes.wait(0), "it rang once"
    driver.close()
    assert not changes.wait(600), "nobody waits for what was closed"
