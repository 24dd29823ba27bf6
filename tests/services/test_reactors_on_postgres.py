"""The reactor's Pond on PostgreSQL: journal, results, publications and demand are rows of one ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.engine.live.test_publish import Publishing
from tests.services.postgres import PostgresServer


@pytest.fixture
def world(tmp_path: Path, postgres: PostgresServer) -> Iterator[Publishing]:
    schema = f"live_{uuid4().hex}"
    postgres.new_schema(schema)
    made = Publishing(tmp_path / "project", f"{postgres.url}?options=-csearch_path%3D{schema}")
    try:
        yield made
    finally:
        made.close()


def test_what_fires_gave_is_published_once_also_over_a_kill(world: Publishing) -> None:
    host = world.start()
    for tick in (1, 2):
        assert world.push(tick)["accepted"] is True
    world.until_published([1, 2])
    world.push(3)
    world.kill(host)
    world.start()
    world.push(4)
    world.until_published([1, 2, 3, 4])
    heard = world.root / "heard.txt"
    world.until(lambda: len(set(heard.read_text().splitlines())) == world.runs(), what="not every Run was heard of")
