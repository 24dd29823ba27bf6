"""Connections to a server: as many as there are threads, cut when nobody may wait any more, and a sign of life."""

from __future__ import annotations

import threading
from pathlib import Path

import psycopg
import pytest

from pondage.define.project.durability import Durability
from pondage.engine.process.heartbeat import Heartbeat
from pondage.errors import LedgerError
from pondage.kernel.demand.events import Tap
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.ledger.database.migrate import migrate
from pondage.ledger.database.postgres import PostgresDriver
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from tests.engine.plain import PlainExecutor, join_slots, make_worker
from tests.ledger.harness import Worker, World, pond
from tests.patience import PATIENCE_S
from tests.services.postgres import PostgresServer, wait_until
from tests.services.proxy import Proxy


@pytest.fixture
def database(postgres: PostgresServer, tmp_path: Path) -> str:
    """The address of a database of its own, so that its connections can be counted."""
    name = f"connections_{tmp_path.name.translate(str.maketrans('-', '_', '[]')).lower()}"[:63]
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres.url.replace("/postgres", f"/{name}")


def connections(url: str) -> int:
    with psycopg.connect(url, autocommit=True, application_name="counting") as connection:
        row = connection.execute(
            """SELECT count(*) FROM pg_stat_activity
               WHERE datname = current_database() AND application_name = 'pondage'"""
        ).fetchone()
    assert row is not None
    return int(row[0])


def world_at(url: str, durability: Durability | None = None) -> World:
    world = World.__new__(World)
    driver = PostgresDriver(url)
    migrate(driver)
    world.ledger = Ledger(driver, durability=durability)
    return world


def test_threads_that_ended_leave_no_connection_behind(database: str) -> None:
    driver = PostgresDriver(database)

    def ask() -> None:
        with driver.reading():
            pass

    for _ in range(20):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    wait_until(lambda: connections(database) <= 2)  # the server sees the end of one a little later
    driver.close()


def test_the_attempts_of_a_worker_share_the_connections_of_its_slots(database: str, tmp_path: Path) -> None:
    world = world_at(database)
    world.deploy(pond("orders"))
    worker = make_worker(world, tmp_path, PlainExecutor(), slots=1)
    before = 0
    for turn in range(10):
        world.send(Tap(pond="orders@1"))
        assert worker.claim_one()
        join_slots()
        before = before or connections(database)
        assert connections(database) == before, f"in turn {turn}"
    world.ledger.close()


def test_whoever_waits_for_an_answer_is_told_when_the_connections_are_cut(database: str) -> None:
    driver = PostgresDriver(database)
    told: list[BaseException] = []
    waiting = threading.Event()

    def ask() -> None:
        try:
            with driver.reading() as tx:
                waiting.set()
                tx.row("SELECT pg_sleep(600)")
        except LedgerUnavailable as error:
            told.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    assert waiting.wait(PATIENCE_S)
    while thread.is_alive():
        driver.sever()
        thread.join(0.05)
    assert len(told) == 1
    with driver.reading():
        pass
    driver.close()


def test_behind_a_dead_network_a_process_fences_itself_by_its_clock(database: str, postgres: PostgresServer) -> None:
    """The beat itself hangs, and so does everybody else: only the clock tells."""
    proxy = Proxy(postgres.port)
    world = world_at(database.replace(str(postgres.port), str(proxy.port)))
    process = Worker(world)
    lost: list[str] = []
    told = threading.Event()

    def on_lost(reason: str) -> None:
        lost.append(reason)
        told.set()

    heartbeat = Heartbeat(world.ledger, process.id, fence_after_s=2.0, state=lambda: "", on_lost=on_lost)
    heartbeat.start()
    proxy.cut()
    assert told.wait(PATIENCE_S)
    assert len(lost) == 1
    assert lost[0].startswith("it could not reach the ledger")
    heartbeat.stop()
    proxy.heal()
    world.ledger.close()
    proxy.close()


def test_a_process_is_present_as_long_as_the_connection_of_its_heartbeat_lives(database: str) -> None:
    world = world_at(database, Durability(heartbeat_s=0.05))
    process = Worker(world)
    other = PostgresDriver(database)

    def is_gone() -> bool:
        with other.transaction() as tx:
            return tx.is_gone(process.id)

    assert is_gone(), "nobody has announced it"
    heartbeat = Heartbeat(world.ledger, process.id, fence_after_s=600, state=lambda: "", on_lost=lambda reason: None)
    heartbeat.start()
    wait_until(lambda: not is_gone())
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            """SELECT pg_terminate_backend(l.pid) FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted
               AND l.objid = %s""",
            [process.id],
        )
    wait_until(lambda: not is_gone())
    assert process.row.id == process.id, "a new connection announces it again"
    heartbeat.stop()
    with world.ledger.reading() as tx:
        assert len(processes.alive(tx)) == 1
    world.ledger.close()
    wait_until(is_gone)
    other.close()


def test_an_address_that_is_not_understood_says_so() -> None:
    with pytest.raises(LedgerError, match="is not understood") as refused:
        Ledger.open("postgresql://host:port:port/x?nonsense=1")
    assert refused.value.code == "BAD_LEDGER_URL"


def test_the_options_of_an_address_are_kept(postgres: PostgresServer) -> None:
    postgres.new_schema("chosen")
    driver = PostgresDriver(f"{postgres.url}?options=-csearch_path%3Dchosen")
    with driver.reading() as tx:
        row = tx.row("SELECT current_schema() AS name, current_setting('lock_timeout') AS timeout")
    assert row is not None
    assert (row["name"], row["timeout"]) == ("chosen", "30s")
    driver.close()
