"""Tables that Spark wrote, with types of every kind, read as Delta and Iceberg by readers that are not Spark."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

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


def test_types_of_every_kind_are_the_same_to_delta_and_iceberg_readers(
    deployed: Callable[[str], Pipeline],
) -> None:
    pipeline = deployed(PONDS)
    pipeline.run("kinds")
    assert pipeline.failures == []
    pipeline.outbox.run_once()
    with pipeline.ledger.reading() as tx:
        assert [row["error"] for row in tx.rows("SELECT error FROM outbox WHERE done_at IS NULL")] == []
    tables = pipeline.path / ".pondage" / "warehouse" / "tables"
    delta = DeltaTable(str(tables / "main" / "kinds" / "v1" / "kinds" / "delta")).to_pyarrow_table()
    with closing(open_catalogue(catalogue_of(pipeline.config.ledger, tables))) as catalogue:
        iceberg = catalogue.load_table(("main", "kinds", "v1", "kinds")).scan().to_arrow()
    ordered = sorted(delta.to_pylist(), key=lambda row: row["wide"])
    assert ordered == sorted(iceberg.to_pylist(), key=lambda row: row["wide"])
    assert [row["wide"] for row in ordered] == [0, 1, 2]
    assert ordered[2]["nested"] == {"a": 2, "b": [{"c": 2}]}
    assert str(ordered[1]["moment"]) == "2026-01-31 10:00:00.123456+00:00"
