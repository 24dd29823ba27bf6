"""The zones of the city, as an office keeps them in a database that knows only today's."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pondage import Run, daily, helpers, not_null, pond, sources


@pond(
    mode="merge",
    keys=["zone_id", "valid_from"],
    window=daily("02:00", tz="America/New_York"),
    expect=[not_null("zone_id", "borough")],
)
def zones(spark: SparkSession, run: Run) -> DataFrame:
    """Every version of a zone, with `valid_from`, `valid_to` and `is_current`; read once a night."""
    rows = sources.jdbc(spark, run, "jdbc:sqlite:zones.db", "zones")
    now = rows.withColumn("updated_at", F.to_timestamp("updated_at"))
    return helpers.scd2(now, run.previous, keys=["zone_id"], at="updated_at")
