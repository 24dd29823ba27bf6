"""Where the data comes from. These Ponds read no other Pond, so they are Inlets."""

from __future__ import annotations

import time

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from pondage import Run, daily, not_null, pond, rows

COUNTRIES = ("DE", "FR", "GB", "US")
CATEGORIES = ("books", "games", "garden", "kitchen", "music")
PRODUCTS = 50
ORDERS = 5_000


@pond(owner="shop", expect=[rows(min=1)])
def orders(spark: SparkSession, run: Run) -> DataFrame:
    """Orders as the shop delivers them: a live Inlet, so every look is fresh. About one row in fifty is dirty.

    They are invented from the minute of the run: the same minute always gives the same orders.
    """
    minute = int(run.freshness.timestamp()) // 60
    time.sleep(0.7)  # the shop takes a moment to answer
    run.logger.info("the shop delivers %d orders", ORDERS)
    number = F.col("id")
    quantity = chance(number, minute, 1, 5) + 1
    return (
        spark.range(ORDERS)
        # Every 100th order is delivered twice, every 50th has no product, every 70th has a negative quantity.
        .withColumn("id", F.when(number % 100 == 1, number - 1).otherwise(number))
        .select(
            F.format_string("%d-%05d", F.lit(minute), number).alias("order_id"),
            F.timestamp_seconds(F.lit(minute * 60) - number * 30).alias("ordered_at"),
            F.when(number % 50 != 3, chance(number, minute, 2, PRODUCTS)).alias("product_id"),
            F.when(number % 70 == 5, -quantity).otherwise(quantity).alias("quantity"),
            one_of(COUNTRIES, chance(number, minute, 3, len(COUNTRIES))).alias("country"),
        )
    )


@pond(window=daily("02:00", tz="Europe/Berlin"), owner="shop", expect=[not_null("product_id", "price")])
def products(spark: SparkSession) -> DataFrame:
    """The catalogue, delivered every night: read once after 02:00, and fresh until the next night."""
    number = F.col("id")
    return spark.range(PRODUCTS).select(
        number.alias("product_id"),
        one_of(CATEGORIES, number % len(CATEGORIES)).alias("category"),
        (F.lit(3) + number * 7 % 40).cast("decimal(10,2)").alias("price"),
    )


@pond(owner="treasury", timeout="1m")
def fx(spark: SparkSession) -> DataFrame:
    """Exchange rates to the euro, from a service that takes its time."""
    time.sleep(1.5)
    rates = [("DE", 1.0), ("FR", 1.0), ("GB", 1.17), ("US", 0.92)]
    return spark.createDataFrame(rates, "country string, rate double")


def chance(number: Column, minute: int, salt: int, below: int) -> Column:
    """Answer a number from 0 that looks random and is the same every time."""
    return F.pmod(F.xxhash64(number, F.lit(minute), F.lit(salt)), F.lit(below))


def one_of(names: tuple[str, ...], index: Column) -> Column:
    """Answer the name at an index from 0."""
    return F.element_at(F.array(*(F.lit(name) for name in names)), (index + 1).cast("int"))
