"""A watch on the ledger's file, which one thread waits for and another one closes."""

import threading
from pathlib import Path

from pondage.ledger.database.clock import HostClock
from pondage.ledger.database.sqlite import SqliteDriver
from tests.patience import PATIENCE_S


def test_a_watch_that_somebody_else_closes_ends_its_wait_and_looks_no_more(tmp_path: Path) -> None:
    driver = SqliteDriver(tmp_path / "ledger.db", HostClock())
    watch = driver.changes()
    waited: list[bool] = []
    waiting = threading.Thread(target=lambda: waited.append(watch.wait(60.0)))
    waiting.start()
    watch.close()
    waiting.join(PATIENCE_S)
    assert waited == [False]
    assert not watch.wait(60.0)
    driver.close()


def test_watches_that_come_and_go_while_they_look_do_no_harm(tmp_path: Path) -> None:
    """A feed of the server is closed in another thread than the one that looks: SQLite crashed the whole process."""
    driver = SqliteDriver(tmp_path / "ledger.db", HostClock())
    for _ in range(50):
        watch = driver.changes()
        threads = [threading.Thread(target=watch.wait, args=(0.01,)) for _ in range(3)]
        for each in threads:
            each.start()
        watch.close()
        for each in threads:
            each.join()
    driver.close()
