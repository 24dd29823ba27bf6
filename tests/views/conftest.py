from collections.abc import Iterator
from pathlib import Path

import pytest

from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver
from pondage.ledger.database.sqlite import SqliteDriver
from tests.ledger.harness import MakeDriver, World, pond


@pytest.fixture
def make_driver(tmp_path: Path) -> Iterator[MakeDriver]:
    """A driver on a new SQLite file."""
    made: list[Driver] = []

    def make(clock: FakeClock) -> Driver:
        made.append(SqliteDriver(tmp_path / "ledger.db", clock))
        return made[-1]

    yield make
    for driver in made:
        driver.close()


@pytest.fixture
def world(make_driver: MakeDriver) -> World:
    """A shop on a real ledger: `orders` and `rates` (optional) flow into `sales` (two Ripples), then `reports`."""
    made = World(make_driver)
    made.deploy(
        pond("orders"),
        pond("rates"),
        pond("sales", sources={"orders": True, "rates": False}, ripples={"clean": [], "sales": ["clean"]}),
        pond("reports", sources={"sales": True}),
    )
    return made
