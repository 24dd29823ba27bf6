"""A Pond whose tables are real parquet files, published in one format, and outside readers of that format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from pondage.connect.iceberg import catalogue_of, open_catalogue
from pondage.define.pond.definition import FormatDefinition
from pondage.engine.services.outbox import Outbox
from pondage.kernel.demand.events import Tap
from pondage.ledger.commit import guarded
from pondage.ledger.kinds.ripple import Same, Written
from pondage.work.snapshot import DataFile, SnapshotContent
from tests.ledger.harness import World, pond

Rows = list[dict[str, Any]]
SPARK_TYPES = {"int32": "integer", "int64": "long", "string": "string", "double": "double"}


class Reader(Protocol):
    """What any outside reader of a format can do."""

    def rows(self, version: int | None = None) -> Rows: ...

    def columns(self) -> list[str]: ...

    def versions(self) -> list[str]:
        """The snapshot of each version, oldest first."""


class Market:
    """Publishes what a test gives it; `outbox` is what a supervisor runs."""

    def __init__(self, world: World, path: Path, kind: str, address: str = "") -> None:
        self.world = world
        self.kind = kind
        self.warehouse = path / "warehouse"
        self.directory = self.warehouse / "tables" / "main" / "orders" / "v1" / "orders"
        self.address = address
        self.outbox = self.new_outbox()
        formats = () if kind == "parquet" else (FormatDefinition(kind=kind),)  # type: ignore[arg-type]
        world.deploy(msgspec.structs.replace(pond("orders"), publish=formats))
        self.worker = world.worker()

    def new_outbox(self) -> Outbox:
        return Outbox(self.world.ledger, str(self.warehouse), self.address)

    def commit(self, table: pa.Table | None) -> None:
        """Complete a Run with this table; None: the Ripple found that nothing has changed. Nothing is published yet."""
        self.world.send(Tap(pond="orders@1"))
        # An Inlet that found nothing new is asked again after a moment.
        self.world.clock.time += 2_000_000
        held = self.worker.claim()
        assert held is not None
        if table is None:
            assert guarded.commit(self.world.ledger, held, Same(), process=self.worker.id)
        else:
            written = write(self.warehouse / "data" / "d1" / "r1" / held.claim.token, table)
            assert guarded.commit(self.world.ledger, held, Written(written), process=self.worker.id)
        self.world.clock.time += 1_000_000

    def publish(self, table: pa.Table | None) -> None:
        self.commit(table)
        self.outbox.run_once()
        self.expect_carried_out()

    def expect_carried_out(self) -> None:
        problems = self.world.rows("SELECT error FROM outbox WHERE done_at IS NULL")
        assert problems == []

    def snapshots(self) -> list[str]:
        rows = self.world.rows("SELECT public_id FROM snapshots ORDER BY id")
        return [str(row["public_id"]) for row in rows]

    def reader(self) -> Reader:
        return READERS[self.kind](self)


def write(place: Path, table: pa.Table) -> SnapshotContent:
    """Write a snapshot as Spark would: files without field ids, none when there are no rows."""
    place.mkdir(parents=True)
    fields = [
        {"name": field.name, "type": SPARK_TYPES[str(field.type)], "nullable": True, "metadata": {}}
        for field in table.schema
    ]
    files = []
    for number, part in enumerate([table] if table.num_rows else []):
        name = f"part-{number}.snappy.parquet"
        pq.write_table(part, place / name)
        files.append(DataFile(name=name, rows=part.num_rows, bytes=(place / name).stat().st_size))
    return SnapshotContent(
        path=str(place), files=tuple(files), schema=json.dumps({"type": "struct", "fields": fields}),
        rows=table.num_rows, bytes=sum(file.bytes for file in files),
    )  # fmt: skip


class ParquetReader:
    """Stable names and pyarrow, checked by DuckDB; an older version is a snapshot of the ledger."""

    def __init__(self, market: Market) -> None:
        self._market = market

    def rows(self, version: int | None = None) -> Rows:
        if version is not None:
            body = self._market.world.rows("SELECT content FROM snapshots ORDER BY id")[version]["content"]
            paths = list(msgspec.json.decode(str(body), type=SnapshotContent).paths)
        else:
            paths = self._shown()["files"]
        found = pa.concat_tables([pq.read_table(path) for path in paths]).to_pylist() if paths else []
        if paths:
            seen = duckdb.sql("SELECT count(*) FROM read_parquet($files)", params={"files": paths}).fetchall()
            assert seen == [(len(found),)]
        return found

    def columns(self) -> list[str]:
        return [field["name"] for field in self._shown()["schema"]["fields"]]

    def versions(self) -> list[str]:
        return self._market.snapshots()

    def _shown(self) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads((self._market.directory / "CURRENT.json").read_text())
        return shown


class DeltaReader:
    """delta-rs, and DuckDB over its Arrow data set."""

    def __init__(self, market: Market) -> None:
        self._place = str(market.directory / "delta")

    def rows(self, version: int | None = None) -> Rows:
        dataset = DeltaTable(self._place, version=version).to_pyarrow_dataset()
        found: Rows = dataset.to_table().to_pylist()
        assert duckdb.sql("SELECT count(*) FROM dataset").fetchall() == [(len(found),)]
        return found

    def columns(self) -> list[str]:
        return [field.name for field in DeltaTable(self._place).schema().fields]

    def versions(self) -> list[str]:
        history = DeltaTable(self._place).history()
        return [str(commit["pondage.snapshot"]) for commit in reversed(history)]


class IcebergReader:
    """pyiceberg, through the catalogue, and DuckDB over its Arrow table."""

    def __init__(self, market: Market) -> None:
        self._address = catalogue_of(market.address, market.warehouse / "tables")

    @contextmanager
    def _table(self) -> Iterator[Table]:
        with closing(open_catalogue(self._address)) as catalogue:
            assert isinstance(catalogue, SqlCatalog)
            yield catalogue.load_table(("main", "orders", "v1", "orders"))

    def rows(self, version: int | None = None) -> Rows:
        with self._table() as table:
            identity = None if version is None else table.snapshots()[version].snapshot_id
            arrow = table.scan(snapshot_id=identity).to_arrow()
        found: Rows = arrow.to_pylist()
        assert duckdb.sql("SELECT count(*) FROM arrow").fetchall() == [(len(found),)]
        return found

    def columns(self) -> list[str]:
        with self._table() as table:
            return [field.name for field in table.schema().fields]

    def versions(self) -> list[str]:
        with self._table() as table:
            return [str((each.summary or {})["pondage.snapshot"]) for each in table.snapshots()]


READERS = {"parquet": ParquetReader, "delta": DeltaReader, "iceberg": IcebergReader}
