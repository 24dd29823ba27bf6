"""Ledgers of every schema that was ever released are kept, and this program goes on with each."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pondage.kernel.demand.events import Clear, Pulse
from pondage.ledger.database.migrate import migrations
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.tables.environments import environment_id
from pondage.ledger.upkeep.replay import replay
from tests.data.make_ledger import LEDGERS
from tests.ledger.harness import World

KEPT = sorted(path.stem for path in LEDGERS.glob("*.sqlite"))


def test_there_is_one_for_each_schema() -> None:
    shipped = migrations("sqlite")
    assert [f"{each.version:04}" for each in shipped] == KEPT


@pytest.mark.parametrize("name", KEPT)
def test_a_kept_ledger_migrates_and_goes_on(tmp_path: Path, name: str) -> None:
    path = tmp_path / "ledger.db"
    shutil.copy(LEDGERS / f"{name}.sqlite", path)
    with closing(sqlite3.connect(path)) as connection:
        made_by = dict(connection.execute("SELECT version, checksum FROM schema_version").fetchall())
    expected = {each.version: each.checksum for each in migrations("sqlite") if each.version <= int(name)}
    assert made_by == expected, (
        "a migration was changed after its ledger was kept: write a new migration, or, when it is not released yet, "
        "run `python -m tests.data.make_ledger`"
    )
    world = World(lambda clock: SqliteDriver(path, clock))
    world.clock.time = int(str(world.one("SELECT max(at) FROM advancements"))) + 1
    with world.ledger.reading() as tx:
        replayed = replay(tx, world.ledger, environment_id(tx, "main"))
    assert replayed.is_complete
    assert replayed.differences == ()
    worker = world.worker()
    assert worker.drain() == ["alone"], "what was waiting is done"
    world.send(Clear(pond="orders@1"))
    world.send(Pulse(pond="sales@1"))
    assert {"orders", "clean", "sales"} <= set(worker.drain())
    world.ledger.close()
