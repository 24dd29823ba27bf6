"""Who is taken for dead on a server, and who must not be."""

from __future__ import annotations

import pytest

from pondage.define.durability import Durability
from pondage.ledger import processes, reap
from pondage.ledger.driver import LedgerUnavailable
from pondage.ledger.ledger import Ledger
from pondage.ledger.migrate import migrate
from pondage.ledger.postgres import PostgresDriver
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


def test_a_process_that_was_cut_off_inside_a_transaction_is_taken_for_dead_all_the_same(
    postgres: PostgresServer,
) -> None:
    """Found by the chaos run "partitioned".

    A claim holds the row of its own process. What was sent together leaves the server without a timeout for the pause
    that follows, so a client that fell silent there would keep its row, and everything it holds, for ever.
    """
    postgres.new_schema("cut_off")
    cut_off = PostgresDriver(postgres.url, schema="cut_off")
    migrate(cut_off)
    with cut_off.transaction() as tx:
        process = processes.register(tx, public_id="pcut", machine="m", pid=1, pid_started=1, role="worker", slots=1)
    with cut_off.transaction() as tx:
        assert processes.beat(tx, process)
    ledger = Ledger(PostgresDriver(postgres.url, schema="cut_off"))
    ledger.durability = Durability(heartbeat_s=0.001, reap_after_s=0.1)

    def fall_silent() -> None:
        with cut_off.transaction() as tx:
            assert processes.is_alive(tx, process)
            with tx.savepoint():
                for state in ("a", "b"):
                    tx.write("UPDATE processes SET state = :state WHERE id = :id", state=state, id=process)
            wait_until(lambda: bool(reap.reap_stale(ledger, process=None)), 20)

    with pytest.raises(LedgerUnavailable):
        fall_silent()
    with ledger.reading() as tx:
        assert processes.alive(tx) == []
    with cut_off.transaction() as tx:
        assert not processes.beat(tx, process), "it can speak again, and learns that it is dead"
    cut_off.close()
    ledger.close()
