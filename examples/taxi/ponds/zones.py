"""The zones of the city, as an office keeps them in a database that knows only today's."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pondage import Run, daily, helpers, not_null, pond, sources


@pond(window=daily("02:00", tz="America/New_York"), expect=[not_null("zone_id", "borough")])
def zone_list(spark: SparkSession, run: Run) -> DataFrame:
    """The list of last night."""
    rows = sources.jdbc(spark, run, "jdbc:sqlite:zones.db", "zones")
    return rows.withColumn("updated_at", F.to_timestamp("updated_at"))


@pond(mode="merge", keys=["zone_id", "valid_from"])
def zones(zone_list: DataFrame, run: Run) -> DataFrame:
    """Every version of a zone, with `valid_from`, `valid_to` and `is_current`."""
    return helpers.scd2(zone_list, run.previous, keys=["zone_id"], at="updated_at")
