from collections.abc import Callable, Iterator
from itertools import count

import pytest

from pondage.ledger.clock import FakeClock
from pondage.ledger.driver import Driver
from pondage.ledger.postgres import PostgresDriver
from tests.ledger.harness import MakeDriver, World
from tests.services.postgres import PostgresServer

_numbers = count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
def make_driver(postgres: PostgresServer) -> Iterator[MakeDriver]:
    """The same fixture as for SQLite, on a schema of its own."""
    schema = f"test_{next(_numbers)}"
    postgres.new_schema(schema)
    made: list[Driver] = []

    def make(clock: FakeClock) -> Driver:
        made.append(PostgresDriver(postgres.url, schema=schema, clock=clock))
        return made[-1]

    yield make
    for driver in made:
        driver.close()


@pytest.fixture(scope="module")
def driver_factory(postgres: PostgresServer) -> Iterator[Callable[[str, FakeClock], Driver]]:
    """Drivers on named schemas that live as long as a module of tests."""
    made: list[Driver] = []

    def make(name: str, clock: FakeClock) -> Driver:
        schema = f"many_{next(_numbers)}_{name}"
        postgres.new_schema(schema)
        made.append(PostgresDriver(postgres.url, schema=schema, clock=clock))
        return made[-1]

    yield make
    for driver in made:
        driver.close()


@pytest.fixture
def world(make_driver: MakeDriver) -> World:
    return World(make_driver)
