"""The report: nothing reads it inside the pipeline, so it is an Outlet. Ask for it with `pondage run reports`."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from pondage import between, check, in_set, not_null, pond, rows


def has_a_plausible_average() -> Column:
    return F.col("amount") >= F.col("orders")  # nothing costs less than a euro


@pond(
    owner="sales-data",
    reads={"daily": "sales.daily"},
    expect=[
        rows(min=1, max=1_000),
        not_null("country", "amount"),
        between("share", 0, 1),
        in_set("country", ["DE", "FR", "GB", "US"]),
        check("plausible_average", has_a_plausible_average, severity="warn"),
    ],
)
def reports(daily: DataFrame) -> DataFrame:
    """The amount of each country and category, and its share of everything."""
    totals = daily.groupBy("country", "category").agg(
        F.sum("orders").alias("orders"), F.round(F.sum("amount"), 2).alias("amount")
    )
    everything = totals.agg(F.sum("amount").alias("everything"))
    share = F.round(F.col("amount") / F.col("everything"), 4)
    return totals.crossJoin(everything).select("country", "category", "orders", "amount", share.alias("share"))
