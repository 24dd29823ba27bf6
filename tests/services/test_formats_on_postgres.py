"""Iceberg with its catalogue in the ledger's own PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from tests.connect.conformance import (
    test_a_crash_between_commit_and_publication_neither_skips_nor_doubles_a_version,
    test_an_older_version_can_be_read_as_of_then,
    test_two_that_publish_at_once_make_no_version_twice,
)
from tests.connect.market import Market
from tests.ledger.harness import World
from tests.services.postgres import PostgresServer

__all__ = [
    "test_a_crash_between_commit_and_publication_neither_skips_nor_doubles_a_version",
    "test_an_older_version_can_be_read_as_of_then",
    "test_two_that_publish_at_once_make_no_version_twice",
]


@pytest.fixture
def market(world: World, tmp_path: Path, postgres: PostgresServer) -> Market:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS iceberg_tables, iceberg_namespace_properties")
    return Market(world, tmp_path, "iceberg", postgres.url)
