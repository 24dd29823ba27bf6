"""A Ripple is a plain function: these tests call them with small DataFrames. No server, no mocks."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pondage import Run

sys.path.insert(0, str(Path(__file__).parent.parent))
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

from ponds.inlets import ORDERS, orders
from ponds.reports import reports
from ponds.sales import clean, enriched

MOMENT = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def spark():
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    return builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()


def test_the_same_minute_gives_the_same_orders(spark):
    run = Run(freshness_us=int(MOMENT.timestamp()) * 1_000_000)
    first, second = orders(spark, run), orders(spark, run)
    assert first.count() == ORDERS
    assert first.exceptAll(second).isEmpty()


def test_dirty_and_doubled_orders_are_left_out(spark):
    rows = [("a", 1, 2), ("a", 1, 2), ("b", None, 1), ("c", 2, -1)]
    given = spark.createDataFrame(rows, "order_id string, product_id long, quantity long")
    assert [row.order_id for row in clean(given).collect()] == ["a"]


def test_without_exchange_rates_every_rate_is_one(spark):
    ordered = spark.createDataFrame(
        [("a", MOMENT, 1, 2, "GB")],
        "order_id string, ordered_at timestamp, product_id long, quantity long, country string",
    )
    products = spark.createDataFrame([(1, "books", 10.0)], "product_id long, category string, price double")
    rates = spark.createDataFrame([("GB", 1.5)], "country string, rate double")
    assert enriched(ordered, products).first().amount == 20.0
    assert enriched(ordered, products, rates).first().amount == 30.0


def test_shares_add_up_to_one(spark):
    daily = spark.createDataFrame(
        [("DE", "books", 3, 30.0), ("DE", "music", 1, 10.0)],
        "country string, category string, orders long, amount double",
    )
    assert sorted(row.share for row in reports(daily).collect()) == [0.25, 0.75]
