from pyspark import pipelines as dp
from pyspark.sql import DataFrame


@dp.materialized_view
def numbers() -> DataFrame:
    return spark.range(10)
