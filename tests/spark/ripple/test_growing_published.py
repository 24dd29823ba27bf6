"""Tables that grow on Spark: what is set aside from their batches, and the versions that readers of formats see."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import Catalog

from pondage.connect.iceberg import catalogue_of, open_catalogue
from pondage.define.values.names import PondKey
from pondage.ledger.act import compaction
from tests.spark.pipeline import Pipeline

PONDS = """
from pondage import Delta, Iceberg, not_null, pond

LANDING = {landing!r}
RULES = [not_null("amount", quarantine=True)]
FORMATS = [Delta(), Iceberg()]


@pond(mode="append", expect=RULES, publish=FORMATS)
def orders(spark):
    return spark.read.schema({columns!r}).json(LANDING).drop("_deleted")


@pond(mode="merge", keys=["id"], expect=RULES, publish=FORMATS)
def stock(spark):
    return spark.read.schema("id int, amount double, _deleted boolean").json(LANDING)
"""
Rows = list[tuple[object, ...]]


class Shop:
    """Two Inlets that read what a test lands, one that appends it and one that merges it, published in two formats."""

    def __init__(self, deployed: Callable[[str], Pipeline], landing: Path) -> None:
        self.landing = landing
        self.pipeline = deployed(self.code("id int, amount double"))
        self.tables = Path(self.pipeline.config.warehouse) / "tables"

    def code(self, columns: str) -> str:
        return PONDS.format(landing=str(self.landing), columns=columns)

    def land(self, pond: str, *rows: Mapping[str, object], is_published: bool = True) -> None:
        self.landing.write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.pipeline.run(pond)
        assert self.pipeline.failures == []
        if is_published:
            self.publish()

    def publish(self) -> None:
        self.pipeline.outbox.run_once()
        with self.pipeline.ledger.reading() as tx:
            assert [row["error"] for row in tx.rows("SELECT error FROM outbox WHERE done_at IS NULL")] == []

    def compact(self, pond: str) -> None:
        assert compaction.begin(self.pipeline.ledger, "main", PondKey(f"{pond}@1"))
        while self.pipeline.attempt():
            pass
        self.publish()

    def bad(self, pond: str) -> Rows:
        return sorted(map(tuple, self.pipeline.rows(f"SELECT * FROM {pond}__bad")))

    def versions(self, pond: str) -> list[Rows]:
        """Answer the rows of each version, which must be the same to readers of both formats."""
        place = str(self.tables / "main" / pond / "v1" / pond / "delta")
        count = DeltaTable(place).version() + 1
        delta = [_ordered(DeltaTable(place, version=each).to_pyarrow_table().to_pylist()) for each in range(count)]
        with closing(open_catalogue(catalogue_of(self.pipeline.config.ledger, self.tables))) as catalogue:
            assert _iceberg(catalogue, pond) == delta
        return delta


def _iceberg(catalogue: Catalog, pond: str) -> list[Rows]:
    table = catalogue.load_table(("main", pond, "v1", pond))
    return [_ordered(table.scan(snapshot_id=each.snapshot_id).to_arrow().to_pylist()) for each in table.snapshots()]


def _ordered(rows: list[dict[str, Any]]) -> Rows:
    return sorted(tuple(row.values()) for row in rows)


@pytest.fixture
def shop(deployed: Callable[[str], Pipeline], tmp_path: Path) -> Shop:
    return Shop(deployed, tmp_path / "landing.json")


def test_what_is_set_aside_from_an_appended_table_grows_with_it_and_each_batch_is_a_version(shop: Shop) -> None:
    shop.land("orders", {"id": 1, "amount": 1.0}, {"id": 2})
    shop.land("orders", {"id": 3}, is_published=False)
    shop.land("orders", {"id": 4, "amount": 4.0})
    broken = "not_null(amount)"
    assert shop.bad("orders") == [(2, None, broken), (3, None, broken)], "a batch may consist of bad rows alone"
    assert shop.pipeline.rows("SELECT id FROM orders ORDER BY id") == [[1], [4]]
    assert shop.versions("orders") == [[(1, 1.0)], [(1, 1.0)], [(1, 1.0), (4, 4.0)]]

    shop.pipeline.deploy(shop.code("id int, amount double, note string"))
    shop.land("orders", {"id": 5, "amount": 5.0, "note": "late"}, {"id": 6, "note": "bad"})
    expected = [(2, None, None, broken), (3, None, None, broken), (6, None, "bad", broken)]
    assert shop.bad("orders") == expected
    before = shop.versions("orders")
    assert before[-1] == [(1, 1.0, None), (4, 4.0, None), (5, 5.0, "late")]

    shop.compact("orders")
    assert shop.bad("orders") == expected
    assert shop.pipeline.rows("SELECT id FROM orders ORDER BY id") == [[1], [4], [5]]
    assert shop.versions("orders")[: len(before)] == before
    assert shop.versions("orders")[-1] == before[-1]


def test_a_bad_row_of_a_merge_changes_nothing_and_is_shown_until_the_next_batch(shop: Shop) -> None:
    shop.land("stock", {"id": 1, "amount": 1.0}, {"id": 2, "amount": 2.0})
    shop.land("stock", {"id": 1}, {"id": 2, "_deleted": True}, {"id": 3, "amount": 3.0})
    assert [row[0] for row in shop.bad("stock")] == [1]
    shop.land("stock", {"id": 1, "amount": 7.0})
    assert shop.bad("stock") == []
    shop.compact("stock")
    assert shop.versions("stock")[:3] == [[(1, 1.0), (2, 2.0)], [(1, 1.0), (3, 3.0)], [(1, 7.0), (3, 3.0)]]
    assert shop.versions("stock")[-1] == [(1, 7.0), (3, 3.0)]
