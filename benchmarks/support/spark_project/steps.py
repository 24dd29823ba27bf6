"""The steps of the reference pipeline: two cleans, union and dedupe, join, aggregate, window, report."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812


def generated(spark: SparkSession, events: int, *, source: str) -> DataFrame:
    """Answer the raw events of one source: half of them, and a tenth of the other's again."""
    first, last = (0, events * 55 // 100) if source == "web" else (events * 45 // 100, events)
    number = F.col("id")
    return spark.range(first, last).select(
        number.alias("event_id"),
        _hashed(number, 1, 50_000).alias("user_id"),
        (F.lit(1_700_000_000) + _hashed(number, 2, 86_400 * 30)).alias("at_s"),
        _one_of(number, 3, "view", "cart", "buy", " BUY ").alias("kind"),
        (_hashed(number, 4, 100_000) / 100).alias("amount"),
        F.concat_ws("/", F.lit(source), F.hex(F.xxhash64(number, F.lit(7)))).alias("agent"),
        F.when(number % 97 == 0, None)
        .otherwise(F.format_string("s%06d", _hashed(number, 5, 100_000)))
        .alias("session"),
    )


def users(spark: SparkSession) -> DataFrame:
    """Answer the users that events are joined with."""
    return spark.range(50_000).select(
        F.col("id").alias("user_id"),
        _one_of(F.col("id"), 6, "de", "fr", "it", "pl", "es").alias("country"),
        F.format_string("user %d", F.col("id")).alias("name"),
    )


def cleaned(raw: DataFrame, source: str) -> DataFrame:
    """Drop broken events and bring kinds and times into one form."""
    return raw.where(F.col("session").isNotNull() & (F.col("amount") > 0)).select(
        "event_id",
        "user_id",
        F.timestamp_seconds("at_s").alias("at"),
        F.lower(F.trim("kind")).alias("kind"),
        F.round("amount", 2).alias("amount"),
        "agent",
        "session",
        F.lit(source).alias("source"),
    )


def merged(web: DataFrame, app: DataFrame) -> DataFrame:
    """Put both sources together, each event once."""
    return web.unionByName(app).dropDuplicates(["event_id"])


def enriched(events: DataFrame, people: DataFrame) -> DataFrame:
    """Add the country of the user and the day."""
    return events.join(people.select("user_id", "country"), "user_id").withColumn("day", F.to_date("at"))


def daily(events: DataFrame) -> DataFrame:
    """Sum up by day, country and kind."""
    return events.groupBy("day", "country", "kind").agg(
        F.count("*").alias("events"), F.sum("amount").alias("amount"), F.countDistinct("user_id").alias("users")
    )


def ranked(totals: DataFrame) -> DataFrame:
    """Rank the countries of each day and kind, and add a running sum."""
    by_day = Window.partitionBy("day", "kind").orderBy(F.desc("amount"))
    so_far = Window.partitionBy("country", "kind").orderBy("day")
    return totals.withColumn("rank", F.rank().over(by_day)).withColumn("so_far", F.sum("amount").over(so_far))


def reported(ranks: DataFrame) -> DataFrame:
    """Keep the three best of each day."""
    return ranks.where("rank <= 3").select(
        "day", "kind", "country", "rank", F.round("so_far", 2).alias("so_far"), "users"
    )


def _hashed(column: Column, salt: int, below: int) -> Column:
    return F.pmod(F.xxhash64(column, F.lit(salt)), F.lit(below))


def _one_of(column: Column, salt: int, *values: str) -> Column:
    return F.element_at(F.array(*map(F.lit, values)), _hashed(column, salt, len(values)).cast("int") + 1)
