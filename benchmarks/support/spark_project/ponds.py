"""The reference pipeline in Pondage, written and fused, in full and small; and a chain of three small Ponds."""

from __future__ import annotations

import steps
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from size import EVENTS, SMALL

from pondage import Pond, pond


def landing(name: str, events: int) -> Pond:
    """Make the Inlet with the raw data."""
    made = Pond(name)

    @made.ripple
    def web(spark: SparkSession) -> DataFrame:
        return steps.generated(spark, events, source="web")

    @made.ripple
    def app(spark: SparkSession) -> DataFrame:
        return steps.generated(spark, events, source="app")

    @made.ripple
    def users(spark: SparkSession) -> DataFrame:
        return steps.users(spark)

    return made


def reference(name: str, source: str, *, fuse: bool) -> Pond:
    """Make the pipeline over an Inlet."""
    made = Pond(name, fuse=fuse)
    raw = made.source(source)

    @made.ripple(reads={"web": raw["web"]})
    def clean_web(web: DataFrame) -> DataFrame:
        return steps.cleaned(web, "web")

    @made.ripple(reads={"app": raw["app"]})
    def clean_app(app: DataFrame) -> DataFrame:
        return steps.cleaned(app, "app")

    @made.ripple
    def events(clean_web: DataFrame, clean_app: DataFrame) -> DataFrame:
        return steps.merged(clean_web, clean_app)

    @made.ripple(reads={"users": raw["users"]})
    def enriched(events: DataFrame, users: DataFrame) -> DataFrame:
        return steps.enriched(events, users)

    @made.ripple
    def daily(enriched: DataFrame) -> DataFrame:
        return steps.daily(enriched)

    @made.ripple
    def ranked(daily: DataFrame) -> DataFrame:
        return steps.ranked(daily)

    @made.ripple
    def report(ranked: DataFrame) -> DataFrame:
        return steps.reported(ranked)

    return made


landing_full = landing("landing_full", EVENTS)
landing_small = landing("landing_small", SMALL)
written_full = reference("written_full", "landing_full", fuse=False)
written_small = reference("written_small", "landing_small", fuse=False)
fused_full = reference("fused_full", "landing_full", fuse=True)
fused_small = reference("fused_small", "landing_small", fuse=True)


@pond
def one_row(spark: SparkSession) -> DataFrame:
    """Read what changed: a single row, another one each time."""
    return spark.createDataFrame([(1, 2.5)], "id long, amount double").withColumn("at", F.current_timestamp())


@pond
def one_doubled(one_row: DataFrame) -> DataFrame:
    """Compute something of it."""
    return one_row.withColumn("amount", F.col("amount") * 2)


@pond
def one_total(one_doubled: DataFrame) -> DataFrame:
    """Sum it up."""
    return one_doubled.groupBy("id").agg(F.sum("amount").alias("amount"))
