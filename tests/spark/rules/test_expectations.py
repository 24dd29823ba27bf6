from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from pondage.define.pond.definition import ExpectationDefinition
from pondage.errors import PondageError
from pondage.spark.ripple.ripple import run_ripple
from pondage.spark.rules.expectations import BadExpectation, ExpectationFailed
from pondage.spark.session.driver import SparkDriver
from pondage.work.snapshot import ExpectationResult
from tests.spark.support import rule, work

pytestmark = pytest.mark.spark

ROWS = [
    (1, "a", 1.0, "2026-01-01", "1.50", [1], (1,)),
    (2, "b", float("nan"), "2026-01-31", "2.50", None, (None,)),
    (None, None, None, None, None, [2], None),
]


def frame(spark: SparkSession) -> DataFrame:
    plain = spark.createDataFrame(
        ROWS, "id int, name string, ratio double, day string, price string, list array<int>, inner struct<x: int>"
    )
    return plain.withColumns(
        {"day": F.col("day").cast("date"), "price": F.col("price").cast("decimal(8,2)"),
         "at": F.col("day").cast("timestamp")}
    )  # fmt: skip


@pytest.fixture
def result(spark: SparkSession, place: Callable[[], Path]) -> Callable[..., ExpectationResult]:
    def checked(one: ExpectationDefinition, checks: dict[str, Callable[[], Column]] | None = None) -> ExpectationResult:
        import msgspec

        lenient = msgspec.structs.replace(one, severity="warn")
        content = run_ripple(spark, work(frame, place(), rules=(lenient,), checks=checks))
        return content.expectations[0]  # type: ignore[union-attr]

    return checked


@pytest.mark.parametrize(
    ("fields", "passed", "observed"),
    [
        ({"kind": "rows", "minimum": 1}, True, "3 rows"),
        ({"kind": "rows", "minimum": 3, "maximum": 3}, True, "3 rows"),
        ({"kind": "rows", "minimum": 4}, False, "3 rows"),
        ({"kind": "rows", "maximum": 2}, False, "3 rows"),
        ({"kind": "not_null", "column": "id"}, False, "1 of 3 rows have id null"),
        ({"kind": "not_null", "column": "NAME"}, False, "1 of 3 rows have NAME null"),
        ({"kind": "not_null", "column": "list"}, False, "1 of 3 rows have list null"),
        ({"kind": "not_null", "column": "inner"}, False, "1 of 3 rows have inner null"),
        ({"kind": "not_null", "column": "inner.x"}, False, "2 of 3 rows have inner.x null"),
        ({"kind": "between", "column": "id", "minimum": 1, "maximum": 2}, True, "id lies between 1 and 2"),
        ({"kind": "between", "column": "id", "minimum": 1.5}, False, "id lies between 1 and 2, not in 1.5.."),
        ({"kind": "between", "column": "day", "minimum": "2026-01-01"}, True,
         "day lies between 2026-01-01 and 2026-01-31"),
        ({"kind": "between", "column": "day", "maximum": "2026-01-30"}, False,
         "day lies between 2026-01-01 and 2026-01-31, not in ..2026-01-30"),
        ({"kind": "between", "column": "price", "minimum": 1.5, "maximum": "2.50"}, True,
         "price lies between 1.50 and 2.50"),
        ({"kind": "between", "column": "price", "maximum": 2}, False, "price lies between 1.50 and 2.50, not in ..2"),
        ({"kind": "between", "column": "at", "minimum": "2026-01-02"}, False,
         "1 of 3 rows have at outside of 2026-01-02.."),
        ({"kind": "between", "column": "name", "minimum": "a", "maximum": "b"}, True,
         "0 of 3 rows have name outside of a..b"),
        ({"kind": "between", "column": "ratio", "minimum": 0}, False, "1 of 3 rows have ratio outside of 0.."),
        ({"kind": "between", "column": "inner.x", "maximum": 0}, False, "1 of 3 rows have inner.x outside of ..0"),
        ({"kind": "in_set", "column": "name", "values": ("a", "b")}, True, "0 of 3 rows have name not in (a, b)"),
        ({"kind": "in_set", "column": "id", "values": (1,)}, False, "1 of 3 rows have id not in (1)"),
    ],
)  # fmt: skip
def test_rules(result: Callable[..., ExpectationResult], fields: dict[str, Any], passed: bool, observed: str) -> None:
    seen = result(rule(**fields))
    assert (seen.passed, seen.observed) == (passed, observed)


def test_a_check_is_broken_by_false_and_by_null(result: Callable[..., ExpectationResult]) -> None:
    checks = {"positive": lambda: F.col("id") > 1}
    seen = result(rule("check", name="positive"), checks)
    assert (seen.passed, seen.observed) == (False, "2 of 3 rows have positive not true")


def test_rules_on_an_empty_result(spark: SparkSession, place: Callable[[], Path]) -> None:
    rules = (
        rule("rows", maximum=0),
        rule("not_null", column="id"),
        rule("between", column="id", minimum=1),
        rule("in_set", column="id", values=(1,)),
        rule("check", name="positive"),
    )
    empty = work(lambda spark: spark.range(0), place(), rules=rules, checks={"positive": lambda: F.col("id") > 1})
    content = run_ripple(spark, empty)
    assert [each.passed for each in content.expectations] == [True] * 5  # type: ignore[union-attr]


def test_all_rules_together_cost_only_the_job_of_the_write(
    spark: SparkSession, driver: SparkDriver, token: str, place: Callable[[], Path]
) -> None:
    rules = (
        rule("rows", minimum=1),
        rule("not_null", column="id"),
        rule("not_null", column="name", name="names"),
        rule("between", column="id", minimum=0),
        rule("in_set", column="name", values=("a", "b")),
        rule("check", name="whole"),
    )
    numbers = work(
        lambda spark: spark.range(10, numPartitions=2).withColumn("name", F.lit("a")),
        place(), rules=rules, checks={"whole": lambda: F.col("id") >= 0},
    )  # fmt: skip
    content = run_ripple(spark, numbers)
    assert all(each.passed for each in content.expectations)  # type: ignore[union-attr]
    assert len(driver.backend.jobs(token)) == 1  # type: ignore[attr-defined]


def test_a_broken_rule_fails_the_ripple_and_names_what_was_seen(spark: SparkSession, place: Callable[[], Path]) -> None:
    rules = (
        rule("rows", minimum=1, name="rows(1..)"),
        rule("not_null", column="id"),
        rule("in_set", column="name", values=("a",), severity="warn"),
    )
    with pytest.raises(ExpectationFailed) as raised:
        run_ripple(spark, work(frame, place(), rules=rules))
    assert raised.value.message == "sales.clean breaks expectation not_null(id): 1 of 3 rows have id null"
    assert raised.value.code == "EXPECTATION"
    assert [each.passed for each in raised.value.results] == [True, False, False]


def test_one_row_is_one_row(spark: SparkSession, place: Callable[[], Path]) -> None:
    rules = (rule("rows", minimum=1), rule("volume", maximum=0.5, of_last=3))
    content = run_ripple(spark, work(lambda spark: spark.range(1), place(), rules=rules))
    seen = [each.observed for each in content.expectations]  # type: ignore[union-attr]
    assert seen == ["1 row", "1 row, and nothing to compare it with"]


def test_a_warning_publishes(spark: SparkSession, place: Callable[[], Path]) -> None:
    content = run_ripple(spark, work(frame, place(), rules=(rule("not_null", column="id", severity="warn"),)))
    [seen] = content.expectations  # type: ignore[union-attr]
    assert (seen.severity, seen.passed) == ("warn", False)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (rule("not_null", column="nope"), r"no column nope; it has id, name"),
        (rule("not_null", column="inner.nope"), r"no column inner\.nope"),
        (rule("between", column="day", minimum=5), r"5 cannot be compared with date values"),
        (rule("between", column="id", minimum="x"), r"'x' cannot be compared with int values"),
        (rule("check", name="missing"), r"no check named missing"),
        (rule("check", name="wrong"), r"check wrong returned bool, not a Column"),
    ],
)
def test_a_rule_that_cannot_be_asked_is_refused_before_the_write(
    spark: SparkSession, place: Callable[[], Path], one: ExpectationDefinition, message: str
) -> None:
    destination = place()
    with pytest.raises(BadExpectation, match=message):
        run_ripple(spark, work(frame, destination, rules=(one,), checks={"wrong": lambda: True}))
    assert not destination.exists()


def test_a_check_of_a_column_that_does_not_exist_says_so(spark: SparkSession, place: Callable[[], Path]) -> None:
    with pytest.raises(PondageError, match=r"UNRESOLVED_COLUMN.*`nope`"):
        run_ripple(
            spark, work(frame, place(), rules=(rule("check", name="bad"),), checks={"bad": lambda: F.col("nope") > 1})
        )
