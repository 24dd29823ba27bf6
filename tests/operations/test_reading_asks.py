"""Reading without a worker asks of a Pond what its author says, too; the answer is what is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pondage.define.pond.definition import ReadingDefinition
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.tables.history import Caller
from pondage.operations import questions
from pondage.operations.operation import Context
from tests.ledger.harness import World, pond
from tests.operations.published import publish


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(lambda clock: SqliteDriver(tmp_path / "ledger.db", clock))
    yield made
    made.ledger.close()  # whoever reads files leases them, and a thread renews that


@pytest.mark.parametrize(("asks", "runs"), [("none", 1), ("tap", 2), ("pulse", 2)])
def test_the_embedded_engine_is_a_door_like_others(world: World, tmp_path: Path, asks: str, runs: int) -> None:
    reading = msgspec.convert({"asks": asks}, ReadingDefinition)
    world.deploy(msgspec.structs.replace(pond("sales", always=True), reading=reading))
    publish(world, tmp_path, "sales", rows=3)
    context = Context(ledger=world.ledger, environment="main", warehouse=tmp_path, by=Caller("ada"))
    request = questions.QueryRequest(sql="select count(*) as n from sales", engine="duckdb")
    found = questions.query.do(context, request)
    assert msgspec.json.decode(found.result)["rows"] == [[3]]
    assert world.one("SELECT count(*) FROM runs") == runs
    questions.query.do(context, msgspec.structs.replace(request, as_of="sales#1"))
    assert world.one("SELECT count(*) FROM runs") == runs, "the past asks for nothing"
