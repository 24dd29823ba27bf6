from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()


@dp.materialized_view(comment="What was sold, one row for each order", partition_cols=["day"])
def orders() -> DataFrame:
    rows = [(1, 10, 2.5, "2024-05-01"), (2, 11, 4.0, "2024-05-01"), (3, 10, 1.0, "2024-05-02")]
    return spark.createDataFrame(rows, "id long, customer_id long, amount double, day string")


@dp.materialized_view(name="shop.customers", schema="id BIGINT, name STRING, country STRING")
def load_customers() -> DataFrame:
    rows = [(10, "Ada", "uk"), (11, "Grace", "us")]
    return spark.createDataFrame(rows, "id int, name string, country string")


@dp.temporary_view
def big_orders() -> DataFrame:
    return spark.read.table("orders").where(F.col("amount") > 2)
