"""A table that grows, from the ledger's batches to versions of a format."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from pondage.define.definition import FormatDefinition
from pondage.define.snapshot import Increment
from pondage.kernel.demand.events import Tap
from pondage.ledger import work as ledger_work
from tests.connect.market import Market, write
from tests.ledger.harness import World, pond


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_each_batch_is_a_version_with_all_rows_so_far(world: World, tmp_path: Path, kind: str) -> None:
    market = Market(world, tmp_path, kind)
    formats = (FormatDefinition(kind=kind),)  # type: ignore[arg-type]
    world.deploy(msgspec.structs.replace(pond("orders"), publish=formats, mode="append"))
    for number in range(5):
        world.send(Tap(pond="orders@1"))
        held = market.worker.claim()
        assert held is not None
        base = world.rows("SELECT max(id) AS id FROM snapshots")[0]["id"]
        written = write(market.warehouse / "data" / "d1" / "r1" / held.claim.token, pa.table({"n": [number]}))
        batch = msgspec.structs.replace(written, increment=Increment(base=base))  # type: ignore[arg-type]
        assert ledger_work.commit_written(world.ledger, held, batch, process=market.worker.id)
        world.clock.time += 1_000_000
        if number != 2:
            market.outbox.run_once()
            market.expect_carried_out()
    reader = market.reader()
    assert reader.versions() == market.snapshots()
    for version in range(5):
        assert sorted(row["n"] for row in reader.rows(version)) == list(range(version + 1))
