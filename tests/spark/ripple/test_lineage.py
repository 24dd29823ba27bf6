"""Column lineage is read from the plan: what each column's values come from, and what decides about the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

from pondage.spark.files.read import read_snapshot
from pondage.spark.files.write import write_files
from pondage.spark.ripple.lineage import column_lineage
from pondage.work.lineage import ColumnLineage
from pondage.work.snapshot import SnapshotContent

Made = Callable[[Callable[..., DataFrame]], ColumnLineage | None]


@pytest.fixture
def inputs(spark: SparkSession, place: Callable[[], Path]) -> dict[str, SnapshotContent]:
    orders = spark.createDataFrame([(1, 7, 2.5)], "id long, customer long, amount double")
    people = spark.createDataFrame([(7, "ada", "uk")], "id long, name string, country string")
    return {
        name: write_files(frame, str(place())).as_content() for name, frame in (("orders", orders), ("people", people))
    }


@pytest.fixture
def made(spark: SparkSession, inputs: dict[str, SnapshotContent]) -> Made:
    def make(function: Callable[..., DataFrame]) -> ColumnLineage | None:
        frames = {name: read_snapshot(spark, content) for name, content in inputs.items()}
        return column_lineage(function(**frames), inputs)

    return make


def texts(lineage: ColumnLineage | None) -> dict[str, list[str]]:
    assert lineage is not None
    return {name: [f"{each.table}.{each.column}" for each in origins] for name, origins in lineage.columns.items()}


def rows(lineage: ColumnLineage | None) -> list[str]:
    assert lineage is not None
    return [f"{each.table}.{each.column}" for each in lineage.rows]


def test_a_column_comes_from_what_its_expression_names(made: Made) -> None:
    found = made(
        lambda orders, people: (
            orders.join(people, orders.customer == people.id)
            .where(people.country == "uk")
            .select(people.name, (orders.amount * 2 + orders.id).alias("total"), F.lit(1).alias("one"))
        )
    )
    assert texts(found) == {"name": ["people.name"], "total": ["orders.amount", "orders.id"], "one": []}
    assert rows(found) == ["orders.customer", "people.country", "people.id"]


def test_aggregates_and_windows(made: Made) -> None:
    window = Window.partitionBy("customer").orderBy("total")
    found = made(
        lambda orders, people: (
            orders.groupBy("customer").agg(F.sum("amount").alias("total")).withColumn("place", F.rank().over(window))
        )
    )
    assert texts(found) == {
        "customer": ["orders.customer"],
        "total": ["orders.amount"],
        "place": ["orders.amount", "orders.customer"],
    }
    assert rows(found) == ["orders.customer"]


def test_a_union_joins_the_origins_of_each_place(made: Made) -> None:
    found = made(lambda orders, people: orders.select("id", "customer").union(people.select("id", F.length("name"))))
    assert texts(found) == {"id": ["orders.id", "people.id"], "customer": ["orders.customer", "people.name"]}


def test_the_union_of_a_table_does_not_colour_other_uses_of_it(made: Made) -> None:
    def function(orders: DataFrame, people: DataFrame) -> DataFrame:
        both = orders.select("id").union(people.select("id")).withColumnRenamed("id", "other")
        return orders.select("id").crossJoin(both)

    assert texts(made(function)) == {"id": ["orders.id"], "other": ["orders.id", "people.id"]}


def test_a_table_joined_with_itself(made: Made) -> None:
    def function(orders: DataFrame, people: DataFrame) -> DataFrame:
        left, right = people.alias("l"), people.alias("r")
        return left.join(right, F.col("l.id") == F.col("r.id")).select("l.name", F.col("r.country").alias("other"))

    assert texts(made(function)) == {"name": ["people.name"], "other": ["people.country"]}


def test_exploded_arrays_rollups_and_common_tables(made: Made, spark: SparkSession) -> None:
    exploded = made(lambda orders, people: people.select("id", F.explode(F.split("name", "")).alias("letter")))
    assert texts(exploded) == {"id": ["people.id"], "letter": ["people.name"]}

    rolled = made(lambda orders, people: orders.rollup("customer").agg(F.max("amount").alias("most")))
    assert texts(rolled) == {"customer": ["orders.customer"], "most": ["orders.amount"]}

    def common(orders: DataFrame, people: DataFrame) -> DataFrame:
        text = "WITH big AS (SELECT id AS key, amount FROM {orders}) SELECT key, amount + 1 AS more FROM big"
        return spark.sql(text, orders=orders)

    assert texts(made(common)) == {"key": ["orders.id"], "more": ["orders.amount"]}


def test_subqueries_count_too(made: Made, spark: SparkSession) -> None:
    def function(orders: DataFrame, people: DataFrame) -> DataFrame:
        return spark.sql(
            "SELECT id, (SELECT max(name) FROM {people}) AS last FROM {orders} "
            "WHERE customer IN (SELECT id FROM {people})",
            orders=orders,
            people=people,
        )

    found = made(function)
    assert texts(found) == {"id": ["orders.id"], "last": ["people.name"]}
    assert rows(found) == ["orders.customer", "people.id"]


def test_a_function_over_rows_may_use_everything_it_was_given(made: Made) -> None:
    def function(orders: DataFrame, people: DataFrame) -> DataFrame:
        def same(frames: Iterable[object]) -> Iterable[object]:
            return frames

        return people.select("id", "name").mapInPandas(same, "id long, name string")

    assert texts(made(function)) == {"id": ["people.id", "people.name"], "name": ["people.id", "people.name"]}


def test_an_input_without_files_leaves_no_trace_and_so_nothing_is_said(
    spark: SparkSession, place: Callable[[], Path]
) -> None:
    empty = write_files(spark.range(0), str(place())).as_content()
    empty = msgspec.structs.replace(empty, files=())
    assert column_lineage(read_snapshot(spark, empty), {"nothing": empty}) is None
