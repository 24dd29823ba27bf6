"""Found by the chaos run "slow heartbeats": who has not beaten yet has announced nothing that could have ended."""

from __future__ import annotations

from pondage.define.durability import Durability
from pondage.ledger import processes, reap
from pondage.ledger.ledger import Ledger
from pondage.ledger.migrate import migrate
from pondage.ledger.postgres import PostgresDriver
from tests.services.postgres import PostgresServer, wait_until


def test_a_process_that_has_not_beaten_yet_is_not_taken_for_gone(postgres: PostgresServer) -> None:
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
