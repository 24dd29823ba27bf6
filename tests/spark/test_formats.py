"""Tables that Spark wrote, with types of every kind, read as Delta and Iceberg by readers that are not Spark."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pyarrow as pa
from deltalake import DeltaTable

from pondage.connect.iceberg import catalogue_of, open_catalogue
from tests.spark.pipeline import Pipeline

PONDS = """
from pondage import Delta, Iceberg, pond

@pond(publish=[Delta(), Iceberg()])
def kinds(spark):
    return spark.sql('''
        SELECT cast(id AS tinyint) AS tiny, cast(id AS smallint) AS small, cast(id AS int) AS whole, id AS wide,
               cast(id AS float) AS f, cast(id AS double) AS d, cast(id AS decimal(12, 3)) AS amount,
               cast(id AS string) AS name, cast('x' AS binary) AS raw, id > 0 AS flag,
               date'2026-01-31' AS day, timestamp'2026-01-31 10:00:00.123456' AS moment,
               timestamp_ntz'2026-01-31 10:00:00' AS wall, array(id, null) AS list, map('k', id) AS pairs,
               named_struct('a', id, 'b', array(named_struct('c', id))) AS nested, cast(null AS int) AS nothing
        FROM range(3)''')
"""


def publish(pipeline: Pipeline) -> None:
    pipeline.outbox.run_once()
    with pipeline.ledger.reading() as tx:
        assert [row["error"] for row in tx.rows("SELECT error FROM outbox WHERE done_at IS NULL")] == []


def read(pipeline: Pipeline, pond: str, version: int | None = None) -> tuple[pa.Table, pa.Table]:
    """What delta-rs and pyiceberg read, of the newest version or of an older one."""
    tables = pipeline.path / ".pondage" / "warehouse" / "tables"
    delta = DeltaTable(str(tables / "main" / pond / "v1" / pond / "delta"), version=version).to_pyarrow_table()
    with closing(open_catalogue(catalogue_of(pipeline.config.ledger, tables))) as catalogue:
        table = catalogue.load_table(("main", pond, "v1", pond))
        identity = None if version is None else table.snapshots()[version].snapshot_id
        return delta, table.scan(snapshot_id=identity).to_arrow()


def test_types_of_every_kind_are_the_same_to_delta_and_iceberg_readers(
    deployed: Callable[[str], Pipeline],
) -> None:
    pipeline = deployed(PONDS)
    pipeline.run("kinds")
    assert pipeline.failures == []
    publish(pipeline)
    delta, iceberg = read(pipeline, "kinds")
    ordered = sorted(delta.to_pylist(), key=lambda row: row["wide"])
    assert ordered == sorted(iceberg.to_pylist(), key=lambda row: row["wide"])
    assert [row["wide"] for row in ordered] == [0, 1, 2]
    assert ordered[2]["nested"] == {"a": 2, "b": [{"c": 2}]}
    assert str(ordered[1]["moment"]) == "2026-01-31 10:00:00.123456+00:00"


GROWING = """
from pondage import Delta, Iceberg, pond

@pond(mode="append", publish=[Delta(), Iceberg()])
def batches(spark, run):
    first = run.position("n") or 0
    last = run.read_to("n", lambda: first + 2)
    return spark.range(first, last)
"""


def test_a_table_that_grows_gets_a_version_for_each_batch_and_no_row_twice(
    deployed: Callable[[str], Pipeline],
) -> None:
    pipeline = deployed(GROWING)
    for _ in range(3):
        pipeline.run("batches")
    assert pipeline.failures == []
    publish(pipeline)
    pipeline.run("batches")
    publish(pipeline)
    pipeline.run("batches")
    pipeline.run("batches")
    publish(pipeline)
    for table in read(pipeline, "batches"):
        assert sorted(table["id"].to_pylist()) == list(range(12))
    for version, rows in enumerate((6, 8, 10, 12)):
        assert [table.num_rows for table in read(pipeline, "batches", version)] == [rows, rows]
