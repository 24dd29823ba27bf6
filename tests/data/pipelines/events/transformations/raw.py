from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import DataFrame
from pyspark.sql.functions import col

LANDING = Path(__file__).parent.parent / "landing"


@dp.table(comment="Clicks as they arrive")
def clicks() -> DataFrame:
    return (
        spark.readStream.format("json")
        .schema("user STRING, page STRING, at TIMESTAMP")
        .option("maxFilesPerTrigger", 10)
        .load(str(LANDING / "clicks"))
    )


@dp.table
def pages_seen() -> DataFrame:
    return spark.readStream.table("clicks").where(col("page").isNotNull()).select("user", "page")


dp.create_streaming_table("everything")


@dp.append_flow(target="everything")
def from_clicks() -> DataFrame:
    return spark.readStream.table("clicks").select("user")


@dp.table
def outside() -> DataFrame:
    return spark.readStream.format("rate").load()
