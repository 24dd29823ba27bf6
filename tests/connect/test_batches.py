"""A table that grows, from the ledger's batches to versions of a format."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from pondage.define.pond.definition import FormatDefinition
from pondage.kernel.demand.events import Tap
from pondage.ledger.commit import guarded
from pondage.ledger.kinds.ripple import Written
from pondage.work.snapshot import Increment
from tests.connect.conformance import Death, after, before, with_its_files_linked
from tests.connect.market import Market, write
from tests.ledger.harness import World, pond


class Batches:
    """A market whose Pond appends."""

    def __init__(self, world: World, path: Path, kind: str) -> None:
        self.market = Market(world, path, kind)
        formats = () if kind == "parquet" else (FormatDefinition(kind=kind),)  # type: ignore[arg-type]
        world.deploy(msgspec.structs.replace(pond("orders"), publish=formats, mode="append"))
        self.world = world

    def commit(self, number: int) -> None:
        """Complete a Run whose batch is one row; nothing is published yet."""
        self.world.send(Tap(pond="orders@1"))
        held = self.market.worker.claim()
        assert held is not None
        base = self.world.rows("SELECT max(id) AS id FROM snapshots")[0]["id"]
        written = write(self.market.warehouse / "data" / "d1" / "r1" / held.claim.token, pa.table({"n": [number]}))
        batch = msgspec.structs.replace(written, increment=Increment(base=base))  # type: ignore[arg-type]
        assert guarded.commit(self.world.ledger, held, Written(batch), process=self.market.worker.id)
        self.world.clock.time += 1_000_000

    def publish(self) -> None:
        self.market.outbox.run_once()
        self.market.expect_carried_out()

    def expect(self, count: int) -> None:
        """Every version has the rows so far; of parquet there is only the newest."""
        reader = self.market.reader()
        assert reader.versions() == self.market.snapshots()
        for version in [None] if self.market.kind == "parquet" else range(count):
            so_far = count if version is None else version + 1
            assert sorted(row["n"] for row in reader.rows(version)) == list(range(so_far))


@pytest.mark.parametrize("kind", ["parquet", "delta", "iceberg"])
def test_each_batch_is_a_version_with_all_rows_so_far(world: World, tmp_path: Path, kind: str) -> None:
    batches = Batches(world, tmp_path, kind)
    for number in range(5):
        batches.commit(number)
        if number != 2:
            batches.publish()
    batches.expect(5)


@pytest.mark.parametrize("point", [before, with_its_files_linked, after])
@pytest.mark.parametrize("kind", ["parquet", "delta", "iceberg"])
def test_a_crash_before_a_batch_is_published_neither_skips_nor_doubles_it(
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    point: Callable[[pytest.MonkeyPatch], None],
) -> None:
    batches = Batches(world, tmp_path, kind)
    batches.commit(0)
    batches.publish()
    for number in (1, 2):
        batches.commit(number)
        with monkeypatch.context() as patched:
            point(patched)
            with suppress(Death):
                batches.market.outbox.run_once()
        world.clock.time += 61_000_000
    batches.publish()
    batches.expect(3)
