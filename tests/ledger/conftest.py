from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver
from pondage.ledger.database.sqlite import SqliteDriver
from tests.ledger.harness import MakeDriver, World
from tests.ledger.jobs import Jobs
from tests.ledger.watched import WatchedDriver


@pytest.fixture
def make_driver(tmp_path: Path) -> Iterator[MakeDriver]:
    """A driver on a new SQLite file; `tests/services` gives the same tests one on PostgreSQL."""
    made: list[Driver] = []

    def make(clock: FakeClock) -> Driver:
        made.append(WatchedDriver(tmp_path / "ledger.db", clock))
        return made[-1]

    yield make
    for driver in made:
        driver.close()


@pytest.fixture(scope="module")
def driver_factory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, FakeClock], Driver]]:
    """Drivers on named databases that live as long as a module of tests."""
    made: list[Driver] = []

    def make(name: str, clock: FakeClock) -> Driver:
        made.append(SqliteDriver(tmp_path_factory.getbasetemp() / f"{name}.db", clock, synchronous="OFF"))
        return made[-1]

    yield make
    for driver in made:
        driver.close()


@pytest.fixture
def world(make_driver: MakeDriver) -> World:
    return World(make_driver)


@pytest.fixture
def run(world: World) -> Jobs:
    return Jobs(world)
