"""Controls: a checker that finds nothing proves nothing unless it finds what is put there."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from pondage.engine.services.outbox import Outbox
from pondage.kernel.demand.events import Tap
from pondage.ledger.commit import guarded
from pondage.ledger.kinds.ripple import Written
from pondage.ledger.upkeep import reap
from tests.chaos.invariants import violations
from tests.engine.plain import sqlite_world
from tests.ledger.harness import World, content, pond


class Sound:
    """A published Pond with one crash behind it, and everything as it should be."""

    def __init__(self, path: Path) -> None:
        self.world: World = sqlite_world(path)
        self.warehouse = path / "warehouse"
        self.world.deploy(pond("orders"))
        self.world.send(Tap(pond="orders@1"))
        first, second = self.world.worker(), self.world.worker()
        assert first.claim() is not None
        reap.reap_process(self.world.ledger, first.row, reason="killed")
        held = second.claim()
        assert held is not None
        self.place = self.warehouse / "data" / "d1" / "r1" / held.claim.token
        self.place.mkdir(parents=True)
        parquet.write_table(pa.table({"n": [1]}), self.place / "part-0.parquet")
        written = msgspec.structs.replace(content(held), path=str(self.place))
        assert guarded.commit(self.world.ledger, held, Written(written), process=second.id)
        Outbox(self.world.ledger, str(self.warehouse)).run_once()

    def spoil(self, statement: str) -> None:
        with self.world.ledger.transaction() as tx:
            assert tx.change(statement) == 1

    def violations(self) -> list[str]:
        return violations(self.world.ledger, self.warehouse)


@pytest.fixture
def sound(tmp_path: Path) -> Sound:
    return Sound(tmp_path)


def test_a_sound_ledger_has_no_violations(sound: Sound) -> None:
    assert sound.violations() == []


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE executions SET outcome = 'ok' WHERE outcome = 'crashed'", "has 2 successful executions"),
        ("UPDATE executions SET outcome = 'crashed' WHERE outcome = 'ok'", "has 0 successful executions"),
        ("UPDATE executions SET completed_at = NULL WHERE outcome = 'ok'", "execution is open"),
        ("UPDATE snapshots SET path = '/elsewhere/tother'", "was not written by token"),
        ("UPDATE runs SET ended_at = NULL", "run is not finished"),
        ("DELETE FROM run_outputs", "shows [], not ['orders']"),
        (
            """INSERT INTO run_outputs (run, pond, node, freshness, snapshot)
               SELECT run, pond, node, freshness, snapshot FROM run_outputs""",
            "shows ['orders', 'orders'], not ['orders']",
        ),
        ("UPDATE outbox SET done_at = NULL", "outbox row is not carried out"),
        ("UPDATE snapshots SET public_id = 'sother'", "does not show sother"),
        ("UPDATE dispatches SET outcome = NULL", "dispatch is open"),
    ],
)
def test_every_wrong_row_is_found(sound: Sound, statement: str, expected: str) -> None:
    sound.spoil(statement)
    assert any(expected in each for each in sound.violations()), sound.violations()


def test_a_lost_file_is_found(sound: Sound) -> None:
    (sound.place / "part-0.parquet").unlink()
    assert any("has lost" in each for each in sound.violations())


def test_a_file_with_other_rows_is_found(sound: Sound) -> None:
    parquet.write_table(pa.table({"n": [1, 2]}), sound.place / "part-0.parquet")
    assert any("another number of rows" in each for each in sound.violations())


def test_a_link_that_leads_elsewhere_is_found(sound: Sound) -> None:
    link = sound.warehouse / "tables" / "main" / "orders" / "v1" / "orders" / "current"
    link.unlink()
    link.symlink_to("/")
    assert any("does not lead to" in each for each in sound.violations())
