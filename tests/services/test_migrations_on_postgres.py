"""Schemas on PostgreSQL: the very tests that SQLite passes, each on a schema that nobody has used."""

from collections.abc import Iterator
from itertools import count

import pytest

from tests.ledger.database.test_migrations import *  # noqa: F403
from tests.ledger.harness import MakeDriver
from tests.services.postgres import PostgresServer, drivers_on

_numbers = count()


@pytest.fixture
def make_driver(postgres: PostgresServer) -> Iterator[MakeDriver]:
    schema = f"migrated_{next(_numbers)}"
    postgres.new_schema(schema)
    yield from drivers_on(postgres, schema)
