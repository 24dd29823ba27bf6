from collections.abc import Iterator
from pathlib import Path

import pytest

from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver
from pondage.ledger.database.sqlite import SqliteDriver
from tests.connect.market import Market
from tests.ledger.harness import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made: list[Driver] = []

    def make(clock: FakeClock) -> Driver:
        made.append(SqliteDriver(tmp_path / "ledger.db", clock))
        return made[-1]

    yield World(make)
    for driver in made:
        driver.close()


@pytest.fixture(params=["parquet", "delta", "iceberg"])
def market(world: World, tmp_path: Path, request: pytest.FixtureRequest) -> Market:
    return Market(world, tmp_path, request.param)
