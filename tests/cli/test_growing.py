"""What an operator sees of tables that grow: `compact`, `force --full`, `show`."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Call
from tests.cli.workers import FakeWorkers
from tests.ledger.commit.test_growing_rules import appending, batch
from tests.ledger.harness import Worker, World


@pytest.fixture
def growing(world: World) -> World:
    world.deploy(appending("raw"), project="other")
    worker = Worker(world)
    for _ in range(3):
        batch(world, worker)
    return world


def test_compact_puts_batches_together_and_says_so(growing: World, call: Call, workers: FakeWorkers) -> None:
    assert "3 rows, 30 B in 3 batches; the newest has 1 row" in call("show", "raw").out
    said = call("compact", "raw", "--json")
    table = {"ripple": "raw", "batches": 3, "files": 1, "rows": 3, "bytes": 10}
    assert said.json == {"pond": "raw@1", "tables": [table]}
    assert "3 rows, 10 B in 1 batch;" in call("show", "raw").out
    assert "raw@1 has no small batches to put together" in call("compact", "raw").out


def test_compact_of_a_pond_that_replaces_its_table_is_refused(growing: World, call: Call) -> None:
    said = call("compact", "orders")
    assert said.code == 1
    assert "publishes its whole table each time" in said.err


def test_force_full_asks_for_everything(growing: World, call: Call) -> None:
    assert "is forced" in call("force", "--full", "raw").out
    assert growing.one("SELECT is_full FROM runs ORDER BY id DESC LIMIT 1") == 1


def test_a_run_shows_the_rows_of_its_batch_and_of_the_table(growing: World, call: Call) -> None:
    (output,) = call("show", "raw#3", "--json").json["outputs"]  # type: ignore[misc]
    assert (output["rows"], output["table_rows"]) == (1, 3)
