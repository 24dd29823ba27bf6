"""Partial results of aggregates: added, taken back, finished as Spark finishes them."""

import pytest
from pyspark.sql import DataFrame, SparkSession

from pondage.spark.incremental.partials import finishable, merged, partial

pytestmark = pytest.mark.spark


def inputs(spark: SparkSession, values: str, type_name: str) -> DataFrame:
    """The arguments of one function over rows (group, taken, value)."""
    return spark.sql(f"select g as g0, f as f0, cast(v as {type_name}) as i0_0 from values {values} as t(g, f, v)")


def shown(state: DataFrame, function: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in finishable(state, [function]).collect())


def test_a_sum_whose_last_value_goes_is_null_again_and_a_group_without_rows_is_gone(spark: SparkSession) -> None:
    before = partial(inputs(spark, "(1, true, 5), (1, true, null), (2, true, 7)", "int"), ["Sum"])
    gone = partial(inputs(spark, "(1, true, 5), (2, true, 7)", "int"), ["Sum"], sign=-1)
    assert shown(merged(before, [gone], ["Sum"]), "Sum") == [(1, 1, 0, None)]


def test_a_filter_lets_rows_into_one_function_only(spark: SparkSession) -> None:
    state = partial(inputs(spark, "(1, true, 5), (1, false, 7), (1, null, 9)", "int"), ["Sum"])
    assert shown(state, "Sum") == [(1, 3, 1, 5)]


def test_a_sum_of_sums_has_the_type_of_the_first(spark: SparkSession) -> None:
    some = partial(inputs(spark, "(1, true, 5)", "decimal(8,2)"), ["Sum"])
    assert merged(some, [some, some], ["Sum"]).schema["s0"].dataType == some.schema["s0"].dataType


@pytest.mark.parametrize(
    ("type_name", "kept"), [("int", "decimal(30,0)"), ("decimal(8,2)", "decimal(18,2)"), ("float", "double")]
)
def test_an_average_is_kept_as_exactly_as_its_type_allows(spark: SparkSession, type_name: str, kept: str) -> None:
    state = partial(inputs(spark, "(1, true, 5)", type_name), ["Average"])
    assert state.schema["s0"].dataType.simpleString() == kept


@pytest.mark.parametrize(("function", "found"), [("Min", 2), ("Max", 9)])
def test_the_least_and_the_most_take_in_what_comes(spark: SparkSession, function: str, found: int) -> None:
    before = partial(inputs(spark, "(1, true, 5), (1, true, null)", "int"), [function])
    new = partial(inputs(spark, "(1, true, 2), (1, true, 9)", "int"), [function])
    assert shown(merged(before, [new], [function]), function) == [(1, 4, 3, found)]


def test_an_aggregate_over_everything_keeps_its_row(spark: SparkSession) -> None:
    rows = inputs(spark, "(1, true, 5)", "int").drop("g0")
    left = merged(partial(rows, ["Count"]), [partial(rows, ["Count"], sign=-1)], ["Count"])
    assert [tuple(row) for row in left.collect()] == [(0, 0)]
