"""Schemas on PostgreSQL: the very tests that SQLite passes, each on a schema that nobody has used."""

from collections.abc import Iterator
from itertools import count

import pytest

from pondage.ledger.clock import FakeClock
from pondage.ledger.driver import Driver
from pondage.ledger.postgres import PostgresDriver
from tests.ledger.harness import MakeDriver
from tests.ledger.test_migrations import *  # noqa: F403
from tests.services.postgres import PostgresServer

_numbers = count()


@pytest.fixture
def make_driver(postgres: PostgresServer) -> Iterator[MakeDriver]:
    schema = f"migrated_{next(_numbers)}"
    postgres.new_schema(schema)
    made: list[Driver] = []

    def make(clock: FakeClock) -> Driver:
        made.append(PostgresDriver(postgres.url, schema=schema, clock=clock))
        return made[-1]

    yield make
    for driver in made:
        driver.close()
