"""A Pond on Spark over live data: it has a Wave, so it runs again whenever quotes were published and it is free."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from pondage import between, pond


@pond(reads={"quotes": "quotes.quotes"}, wave=True, expect=[between("spread", 0, None)])
def spreads(quotes: DataFrame) -> DataFrame:
    """How many quotes each symbol had, its mean spread, and the last quote's time."""
    return quotes.groupBy("symbol").agg(
        F.count("*").alias("quotes"),
        F.round(F.avg(F.col("ask") - F.col("bid")), 4).alias("spread"),
        F.max("at").alias("last"),
    )
