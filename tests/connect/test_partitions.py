"""Tables in partitions, as Delta and Iceberg show them: real partitions, whatever their values are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pondage.connect.delta import DeltaTable
from pondage.connect.iceberg import IcebergTable, open_catalogue
from pondage.connect.tables import publish_table
from pondage.define.pond.partition import Partition
from pondage.errors import PondageError
from pondage.ledger.upkeep.publications import Version
from pondage.work.snapshot import DataFile, Increment, SnapshotContent

FIELDS = [("n", "long"), ("city", "string"), ("day", "date"), ("at", "timestamp")]
ARROW = pa.schema(
    [("n", pa.int64()), ("city", pa.string()), ("day", pa.date32()), ("at", pa.timestamp("us", tz="UTC"))]
)
ODD = ["a/b", "day=x", "Zürich 雪", "../..", "%2F", "null", "__HIVE_DEFAULT_PARTITION__", None]


@pytest.fixture(params=["delta", "iceberg"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DeltaTable | IcebergTable]:
    if request.param == "delta":
        yield DeltaTable(tmp_path / "table")
        return
    with closing(open_catalogue(f"sqlite:///{tmp_path / 'iceberg.db'}")) as catalogue:
        yield IcebergTable(catalogue, ("main", "trips", "v1", "trips"), tmp_path / "table")


def written(place: Path, parts: Mapping[Partition, list[dict[str, Any]]], by: tuple[str, ...]) -> SnapshotContent:
    """Write rows as Spark would: one name in several directories, the columns in the files."""
    files = []
    for number, (partition, rows) in enumerate(parts.items()):
        name = f"v{number}/part-00000-abc.c000.snappy.parquet"
        (place / name).parent.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows, ARROW), place / name)
        files.append(DataFile(name=name, rows=len(rows), bytes=(place / name).stat().st_size, partition=partition))
    schema = {"type": "struct", "fields": [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in FIELDS]}
    return SnapshotContent(
        path=str(place), files=tuple(files), schema=json.dumps(schema), rows=len(files), bytes=1,
        increment=Increment(by=by),
    )  # fmt: skip


def published(table: DeltaTable | IcebergTable, snapshot: str, content: SnapshotContent) -> None:
    version = Version(snapshot=snapshot, newest=snapshot, run="r", freshness=0, content=content)
    assert publish_table(table, lambda _: [version], keep_s=1e9) == 1


def shown(table: DeltaTable | IcebergTable, column: str, value: object) -> tuple[list[int], int]:
    """The numbers of the rows with this value, and how many files a reader opens for them."""
    if isinstance(table, DeltaTable):
        from deltalake import DeltaTable as Reader

        reader = Reader(str(table.data))
        wanted = pa.compute.field(column).is_null() if value is None else pa.compute.field(column) == value
        dataset = reader.to_pyarrow_dataset()
        found = dataset.to_table(filter=wanted)
        return sorted(found["n"].to_pylist()), len(list(dataset.get_fragments(filter=wanted)))
    loaded = table._table()
    assert loaded is not None
    from pyiceberg.expressions import EqualTo, IsNull

    scan = loaded.scan(row_filter=IsNull(column) if value is None else EqualTo(column, value))  # type: ignore[arg-type]
    return sorted(scan.to_arrow()["n"].to_pylist()), len(list(scan.plan_files()))


def row(number: int, **more: object) -> dict[str, Any]:
    return {"n": number, "city": None, "day": None, "at": None, **more}


def test_a_reader_opens_only_the_files_of_the_partitions_that_it_asks_for(
    table: DeltaTable | IcebergTable, tmp_path: Path
) -> None:
    parts = {(city,): [row(number, city=city)] for number, city in enumerate(ODD)}
    published(table, "s1", written(tmp_path / "t1", parts, ("city",)))
    for number, city in enumerate(ODD):
        assert shown(table, "city", city) == ([number], 1)


def test_a_replaced_partition_shows_its_new_rows(table: DeltaTable | IcebergTable, tmp_path: Path) -> None:
    first = written(tmp_path / "t1", {("a",): [row(1, city="a")], ("b",): [row(2, city="b")]}, ("city",))
    published(table, "s1", first)
    second = written(tmp_path / "t2", {("a",): [row(3, city="a")]}, ("city",))
    kept = [file for file in first.files if file.partition == ("b",)]
    both = tuple(
        DataFile(name=f"{place}/{each.name}", rows=1, bytes=each.bytes, partition=each.partition)
        for place, found in ((first.path, kept), (second.path, second.files))
        for each in found
    )
    published(
        table,
        "s2",
        SnapshotContent(path="", files=both, schema=second.schema, rows=2, bytes=1, increment=second.increment),
    )
    assert shown(table, "city", "a") == ([3], 1)
    assert shown(table, "city", "b") == ([2], 1)


def test_an_empty_text_is_refused_where_it_would_be_read_as_null(tmp_path: Path) -> None:
    content = written(tmp_path / "t1", {("",): [row(1, city="")]}, ("city",))
    with pytest.raises(PondageError, match="an empty text, which Delta reads as null"):
        published(DeltaTable(tmp_path / "table"), "s1", content)


def test_a_partition_that_is_derived_is_one_of_iceberg_and_none_of_delta(
    table: DeltaTable | IcebergTable, tmp_path: Path
) -> None:
    from datetime import UTC, datetime

    parts: dict[Partition, list[dict[str, Any]]] = {
        (f"2026-03-0{number}",): [row(number, at=datetime(2026, 3, number, 12, tzinfo=UTC))] for number in (1, 2)
    }
    published(table, "s1", written(tmp_path / "t1", parts, ("at:day",)))
    if isinstance(table, IcebergTable):
        loaded = table._table()
        assert loaded is not None
        assert [str(field.transform) for field in loaded.spec().fields] == ["day"]
        scan = loaded.scan(row_filter="at < '2026-03-02T00:00:00+00:00'")
        assert (scan.to_arrow()["n"].to_pylist(), len(list(scan.plan_files()))) == ([1], 1)
    else:
        from deltalake import DeltaTable as Reader

        assert Reader(str(table.data)).to_pyarrow_table().num_rows == 2


def test_a_delta_table_keeps_the_partitions_that_it_began_with(tmp_path: Path) -> None:
    table = DeltaTable(tmp_path / "table")
    published(table, "s1", written(tmp_path / "t1", {("a",): [row(1, city="a")]}, ("city",)))
    with pytest.raises(PondageError, match="in partitions by city, and the Pond's by nothing"):
        published(table, "s2", written(tmp_path / "t2", {("2026-03-01",): [row(1)]}, ("at:day",)))
