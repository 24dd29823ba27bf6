"""Closing a ledger while its threads work: SQLite itself does not survive a connection that goes under a statement."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

from pondage.ledger.database.clock import HostClock
from pondage.ledger.database.sqlite import SqliteDriver


def test_whoever_closes_waits_for_the_transactions_of_other_threads(tmp_path: Path) -> None:
    driver = SqliteDriver(tmp_path / "ledger.db", HostClock())
    driver.script("CREATE TABLE seen (n INTEGER);")
    is_open, may_end = Event(), Event()

    def works() -> int:
        with driver.transaction() as tx:
            is_open.set()
            assert may_end.wait(60)
            tx.write("INSERT INTO seen VALUES (1)")
        with driver.reading() as tx:
            return len(tx.rows("SELECT n FROM seen"))

    with ThreadPoolExecutor(2) as pool:
        working = pool.submit(works)
        assert is_open.wait(60)
        closing = pool.submit(driver.close)
        try:
            assert not closing.done()
        finally:
            may_end.set()
        assert working.result(60) == 1, "what was open is committed, and what comes later has a connection of its own"
        closing.result(60)
    driver.close()


def test_a_thread_that_begins_after_a_close_has_a_connection_of_its_own(tmp_path: Path) -> None:
    driver = SqliteDriver(tmp_path / "ledger.db", HostClock())
    driver.script("CREATE TABLE seen (n INTEGER);")
    driver.close()
    with driver.transaction() as tx:
        tx.write("INSERT INTO seen VALUES (1)")
    with driver.reading() as tx:
        assert len(tx.rows("SELECT n FROM seen")) == 1
    driver.close()
