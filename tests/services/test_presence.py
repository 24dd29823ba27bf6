"""Who is taken for dead on a server, and who must not be."""

from __future__ import annotations

import threading
from collections.abc import Callable

import psycopg
import pytest

from pondage.define.project.durability import Durability
from pondage.kernel.demand.events import Pulse
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.ledger.database.migrate import migrate
from pondage.ledger.database.postgres import PostgresDriver
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions, processes
from pondage.ledger.upkeep import reap
from tests.ledger.harness import Worker, World, pond
from tests.services.postgres import PostgresServer, wait_until


def test_a_process_that_has_not_beaten_yet_is_not_taken_for_gone(postgres: PostgresServer) -> None:
    """Found by the chaos run "slow heartbeats": it has announced nothing that could have ended."""
    postgres.new_schema("presence")
    driver = PostgresDriver(postgres.url, schema="presence")
    migrate(driver)
    ledger = Ledger(driver, durability=Durability(heartbeat_s=0.01, reap_after_s=1_000))
    with ledger.transaction() as tx:
        age = tx.server_age_us()
        assert age is not None
        new = processes.register(tx, public_id="pnew", machine="m", pid=1, pid_started=1, role="worker", slots=1)
        # The server must have been up for one threshold: the shortest one that is not over yet.
        ledger.durability = Durability(heartbeat_s=0.0001, reap_after_s=age / 1_000_000)

    def is_silent() -> bool:
        with ledger.reading() as tx:
            return any(row.id == new for row in processes.stale(tx, older_than_us=1_000, not_id=None))

    wait_until(is_silent)
    assert reap.reap_stale(ledger, process=None) == []
    driver.close()


def beat(world: World, worker: Worker) -> bool:
    with world.ledger.transaction() as tx:
        return processes.beat(tx, worker.id)


@pytest.mark.parametrize("inside", ["claim", "commit"])
def test_a_process_that_was_cut_off_inside_a_transaction_is_taken_for_dead_all_the_same(
    postgres: PostgresServer, inside: str
) -> None:
    """Found by the chaos run "partitioned".

    A claim holds the row of its own process: nobody could declare it dead. A commit holds the row of its execution:
    whoever reaps would wait for it, and so would all that report to the same actor.
    """
    schema = f"cut_off_in_{inside}"
    postgres.new_schema(schema)
    made: list[PostgresDriver] = []

    def make(clock: FakeClock) -> PostgresDriver:
        made.append(PostgresDriver(postgres.url, schema=schema, clock=clock))
        return made[-1]

    world = World(make)
    world.deploy(pond("orders"))
    world.send(Pulse(pond="orders@1"))
    other = world.open(2)
    other.durability = world.ledger.durability
    worker = world.worker()
    beat(world, worker)
    work = worker.claim()
    assert work is not None
    world.clock.time += int(world.ledger.durability.reap_after_s * 2_000_000)

    def fall_silent() -> None:
        with world.ledger.transaction() as tx:
            if inside == "claim":
                assert processes.is_alive(tx, worker.id)
            else:
                assert executions.close(tx, execution=work.claim.execution, token=work.claim.token, outcome="ok")
            wait_until(lambda: bool(reap.reap_stale(other, process=None)))

    with pytest.raises(LedgerUnavailable):
        fall_silent()
    with other.reading() as tx:
        assert processes.alive(tx) == []
        assert [row["outcome"] for row in tx.rows("SELECT outcome FROM executions ORDER BY id")] == ["crashed", None]
    assert not beat(world, worker), "it can speak again, and learns that it is dead"
    assert not worker.finish(work), "its late commit is fenced"
    for driver in made:
        driver.close()


def presence(postgres: PostgresServer, schema: str) -> Ledger:
    postgres.new_schema(schema)
    driver = PostgresDriver(postgres.url, schema=schema)
    migrate(driver)
    return Ledger(driver)


def until_held_up(postgres: PostgresServer, act: Callable[[], object]) -> threading.Thread:
    """Begin to act in a thread, and answer it when a lock keeps it from going on."""
    thread = threading.Thread(target=act)
    thread.start()
    with psycopg.connect(postgres.url, autocommit=True) as watch:
        held_up = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        wait_until(lambda: watch.execute(held_up).fetchone() is not None)
    return thread


def register(ledger: Ledger, public_id: str) -> int:
    with ledger.transaction() as tx:
        return processes.register(tx, public_id=public_id, machine="m", pid=1, pid_started=1, role="worker")


def living(ledger: Ledger) -> list[str]:
    with ledger.reading() as tx:
        return [row.public_id for row in processes.alive(tx)]


@pytest.mark.parametrize("ending", ["leaves", "is buried"])
def test_who_ends_while_its_last_beat_is_being_written_is_dead_all_the_same(
    postgres: PostgresServer, ending: str
) -> None:
    """Found by a rolling restart on a slow disk: the good-bye passed over a row that a beat held."""
    ledger = presence(postgres, f"last_beat_{ending[:2]}")
    process = register(ledger, "pleaving")

    def end() -> None:
        if ending == "is buried":
            row = next(row for row in rows if row.id == process)
            reap.reap_process(ledger, row, reason="it ended")
            return
        with ledger.transaction() as tx:
            processes.leave(tx, process)

    with ledger.reading() as tx:
        rows = processes.alive(tx)
    with ledger.transaction() as tx:
        assert processes.beat(tx, process)
        tx.row("SELECT 1")
        leaving = until_held_up(postgres, end)
    leaving.join()
    assert living(ledger) == []
    ledger.close()


def test_a_child_that_ended_while_it_was_being_registered_is_not_left_as_a_living_one(
    postgres: PostgresServer,
) -> None:
    """Its commit may arrive after its parent has seen it end."""
    ledger = presence(postgres, "half_registered")
    parent = register(ledger, "pparent")

    def bury() -> None:
        reap.bury(ledger, public_id="pchild", role="worker", reason="it ended", reaper=parent)

    with ledger.transaction() as tx:
        processes.register(tx, public_id="pchild", machine="m", pid=2, pid_started=1, role="worker")
        tx.row("SELECT 1")
        burying = until_held_up(postgres, bury)
    burying.join()
    assert living(ledger) == ["pparent"]
    ledger.close()


def test_a_child_that_ended_before_it_was_registered_cannot_be_registered_later(postgres: PostgresServer) -> None:
    ledger = presence(postgres, "never_registered")
    parent = register(ledger, "pparent")
    assert reap.bury(ledger, public_id="pchild", role="worker", reason="it ended", reaper=parent) is None
    with pytest.raises(psycopg.errors.UniqueViolation):
        register(ledger, "pchild")
    assert living(ledger) == ["pparent"]
    ledger.close()
