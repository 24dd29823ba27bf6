"""The mart: what was earned, by day and borough."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pondage import Delta, Iceberg, Run, pond, rows


@pond(mode="partition", by=["day"], expected="daily", expect=[rows(min=1)], publish=[Delta(), Iceberg()])
def fares(clean: DataFrame, zones: DataFrame, run: Run) -> DataFrame:
    """A trip counts for the borough that its zone belonged to when it began."""
    trips = clean.where(run.touched("at:day", own="day"))
    was_valid = (trips.at >= zones.valid_from) & (zones.valid_to.isNull() | (trips.at < zones.valid_to))
    return (
        trips.join(F.broadcast(zones), (trips.zone_id == zones.zone_id) & was_valid)
        .groupBy(F.to_date("at").alias("day"), "borough")
        .agg(F.count("*").alias("trips"), F.sum("fare").alias("fare"))
    )
