"""Adding a kind of work is adding a file: claim, worker, executors, commit and reaper carry one that they never saw."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pondage.engine.execute import spark_executor
from pondage.engine.execute.spark_executor import SparkExecutor
from pondage.engine.process.config import WorkerConfig
from pondage.engine.worker.process import Worker
from pondage.ledger.commit import guarded, polling, work
from pondage.ledger.kinds import registry
from pondage.ledger.queue import processes
from pondage.ledger.upkeep import reap
from tests.engine.plain import engine_config, join_slots
from tests.engine.worker.toy_kind import Counted, CountExecutor, CountKind, CountTask, submit
from tests.ledger.harness import World

MIGRATION = """
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''compact'')', '''compact'', ''count'')') WHERE name = 'dispatches';
PRAGMA writable_schema = RESET;
-- Whoever has the ledger open reads its schema again.
CREATE INDEX looked_again ON dispatches (id);
DROP INDEX looked_again;
"""


@pytest.fixture(autouse=True)
def registered(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both registries know it, and so does the schema, as the walk-through says."""
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as connection:
        connection.executescript(MIGRATION)
    monkeypatch.setitem(registry.KINDS, CountKind.name, CountKind())
    monkeypatch.setitem(spark_executor.EXECUTORS, CountKind.name, CountExecutor())


def carried_out(world: World, path: Path, text: str) -> tuple[object, object]:
    """What a real worker makes of a text: how it ended, and its answer."""
    asked = submit(world.ledger, text)
    config = WorkerConfig(engine=engine_config(path), public_id=world.ledger.ids.new("p"), code="", parent=0)
    assert Worker(config, world.ledger, SparkExecutor(config, world.ledger)).claim_one()
    join_slots()
    (row,) = world.rows(f"SELECT outcome, result FROM dispatches WHERE id = {asked}")
    return row["outcome"], row["result"]


def noted(world: World) -> list[tuple[object, object]]:
    return [(row["kind"], row["payload"]) for row in world.rows("SELECT kind, payload FROM history ORDER BY id")]


def test_every_kind_of_the_ledger_has_an_executor_and_no_executor_is_left_over() -> None:
    assert spark_executor.EXECUTORS.keys() == registry.KINDS.keys()
    assert all(name == kind.name for name, kind in registry.KINDS.items())


def test_a_new_kind_is_claimed_carried_out_and_committed(world: World, tmp_path: Path) -> None:
    assert carried_out(world, tmp_path, "pond") == ("ok", "4")
    assert noted(world) == [("counted", '{"letters":4}')]


def test_what_fails_is_told_as_its_kind_says(world: World, tmp_path: Path) -> None:
    assert carried_out(world, tmp_path, "4 ponds") == ("failed", None)
    assert [kind for kind, _ in noted(world)] == ["not counted"]
    assert "has more than letters" in str(noted(world)[0][1])


def test_a_worker_that_dies_loses_it_to_another_one_and_is_fenced(world: World) -> None:
    submit(world.ledger, "pond")
    first, second = world.worker(), world.worker()
    queues = polling.queues_for(world.ledger, code="")
    held = work.claim_work(world.ledger, process=first.id, queues=queues, token="t1", is_alone=True)
    assert held is not None
    assert held.given(CountTask).text == "pond"
    with world.ledger.reading() as tx:
        (dead,) = (row for row in processes.alive(tx) if row.id == first.id)
    assert reap.reap_process(world.ledger, dead, reason="killed by a test") is not None
    assert noted(world) == [("not counted", '{"letters":"its worker died"}')]
    again = work.claim_work(world.ledger, process=second.id, queues=queues, token="t2", is_alone=True)
    assert again is not None
    assert not guarded.commit(world.ledger, held, Counted(9), process=first.id)
    assert guarded.commit(world.ledger, again, Counted(4), process=second.id)
    assert world.one("SELECT result FROM dispatches") == "4"
