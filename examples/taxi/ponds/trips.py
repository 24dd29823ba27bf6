"""What the company delivers, and what is left when everything that is wrong with it is taken out."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pondage import Run, check, helpers, not_null, pond, sources, unique


@pond(
    mode="partition",
    by=["at:day"],
    expected="daily",
    expect=[
        not_null("zone_id", quarantine=True),
        check("is_paid", lambda: F.col("fare") > 0, quarantine=True),
    ],
)
def trips(spark: SparkSession, run: Run) -> DataFrame:
    """Each trip as often as it was delivered, by the day on which it began."""
    return sources.files(
        spark,
        run,
        "landing",
        glob="*.parquet",
        schema="trip_id string, at timestamp, zone_id int, distance double, fare double",
        drift="cast",
        bad="quarantine",
        replaced="replace",
        keep=["_file"],
    )


@pond(mode="partition", by=["at:day"], expect=[unique("trip_id")])
def clean(trips: DataFrame, run: Run) -> DataFrame:
    """Each trip once."""
    return helpers.latest(trips.where(run.touched("at:day")), ["trip_id"], "_file").drop("_file")
