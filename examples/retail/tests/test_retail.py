"""A Ripple is a plain function: these tests call them with small tables. No server, no mocks: `pondage test`."""

from __future__ import annotations

from datetime import UTC, datetime

from ponds.inlets import ORDERS, orders
from ponds.reports import reports
from ponds.sales import sales

from pondage import Run

MOMENT = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def test_the_same_minute_gives_the_same_orders(spark):
    run = Run(freshness_us=int(MOMENT.timestamp()) * 1_000_000)
    first, second = orders(spark, run), orders(spark, run)
    assert first.count() == ORDERS
    assert first.exceptAll(second).isEmpty()


def test_dirty_and_doubled_orders_are_left_out(table, run_ripple):
    rows = [("a", 1, 2), ("a", 1, 2), ("b", None, 1), ("c", 2, -1)]
    given = table(rows, "order_id string, product_id long, quantity long")
    kept = run_ripple(sales, "clean", orders=given, expectations=True)
    assert [row.order_id for row in kept.collect()] == ["a"]


def test_without_exchange_rates_every_rate_is_one(table, run_ripple):
    ordered = table(
        [("a", MOMENT, 1, 2, "GB")],
        "order_id string, ordered_at timestamp, product_id long, quantity long, country string",
    )
    products = table([(1, "books", 10.0)], "product_id long, category string, price double")
    rates = table([("GB", 1.5)], "country string, rate double")
    assert run_ripple(sales, "enriched", clean=ordered, products=products).first().amount == 20.0
    assert run_ripple(sales, "enriched", clean=ordered, products=products, fx=rates).first().amount == 30.0


def test_shares_add_up_to_one(table, run_ripple):
    daily = table(
        [("DE", "books", 3, 30.0), ("DE", "music", 1, 10.0)],
        "country string, category string, orders long, amount double",
    )
    assert sorted(row.share for row in run_ripple(reports, daily=daily).collect()) == [0.25, 0.75]
