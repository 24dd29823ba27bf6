"""Make the ledger that is kept for the newest schema: `python -m tests.data.make_ledger`.

Ledgers of every released schema are kept beside this file, and a test migrates each. The newest one is made again as
long as its schema is not released; after that, a new migration gets a new file and the old ones are never touched.
"""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path

from pondage.define.pond.definition import ScheduleDefinition, Triggers
from pondage.kernel.demand.events import Pulse, Tap
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.migrate import migrations
from pondage.ledger.database.sqlite import SqliteDriver
from tests.ledger.harness import World, pond

LEDGERS = Path(__file__).parent / "ledgers"


def make(path: Path) -> None:
    """Write a ledger in which something has happened, something failed, and something waits."""
    drivers: list[SqliteDriver] = []

    def driver(clock: FakeClock) -> SqliteDriver:
        drivers.append(SqliteDriver(path, clock))
        return drivers[-1]

    world = World(driver)
    daily = Triggers(schedules=(ScheduleDefinition(cron="0 6 * * *"),))
    world.deploy(
        pond("orders", triggers=daily),
        pond("sales", sources={"orders": True}, ripples={"clean": [], "sales": ["clean"]}),
    )
    worker = world.worker()
    for _ in range(2):
        world.send(Pulse(pond="sales@1"))
        worker.drain()
    world.deploy(pond("orders", code="c2", triggers=daily), archive=b"b")
    world.send(Tap(pond="orders@1"))
    failing = worker.claim()
    assert failing is not None
    worker.fail(failing)
    world.deploy(pond("alone"), project="q", archive=b"c")
    world.send(Tap(pond="alone@1"))
    for each in drivers:
        each.close()


def main() -> None:
    """Make the file of the newest schema."""
    newest = migrations("sqlite")[-1].version
    kept = LEDGERS / f"{newest:04}.sqlite"
    kept.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        made = Path(directory) / "ledger.db"
        make(made)
        connection = sqlite3.connect(made)
        # Small pages: most tables have a handful of rows.
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("PRAGMA page_size=512")
        connection.execute("VACUUM INTO ?", (str(kept),))
        connection.close()
    print(f"{kept.name}: {kept.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
