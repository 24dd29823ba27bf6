"""Rules about keys, patterns, other tables, age and size; and rows that are set aside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from pondage.define.pond.definition import ExpectationDefinition
from pondage.define.pond.run import Run
from pondage.errors import PondageError
from pondage.spark.files.read import read_snapshot
from pondage.spark.query.breaks import breaking_rows
from pondage.spark.query.diff import compare
from pondage.spark.ripple.merge import Merge
from pondage.spark.ripple.ripple import run_ripple
from pondage.spark.rules.expectations import BadExpectation, ExpectationFailed
from pondage.spark.session.driver import SparkDriver
from pondage.work.diff import TableDifference
from pondage.work.snapshot import ExpectationResult, SnapshotContent
from tests.spark.support import rule, work

pytestmark = pytest.mark.spark

NOON = 1_767_268_800_000_000  # 2026-01-01T12:00Z
HOUR = 3_600_000_000
ROWS = [(1, "DE", "2026-01-01 11:00"), (2, "fr", "2026-01-01 10:00"), (2, None, None), (None, "DE", None)]


def frame(spark: SparkSession) -> DataFrame:
    given = spark.createDataFrame(ROWS, "id int, country string, at string")
    return given.withColumn("at", F.col("at").cast("timestamp")).withColumn("day", F.to_date("at"))


@pytest.fixture
def countries(spark: SparkSession, place: Callable[[], Path]) -> SnapshotContent:
    content = run_ripple(spark, work(lambda spark: spark.sql("select 'DE' as code, 1 as id"), place()))
    assert isinstance(content, SnapshotContent)
    return content


def judged(
    spark: SparkSession, place: Path, *rules: ExpectationDefinition, **more: Any
) -> tuple[ExpectationResult, ...]:
    more.setdefault("run", Run(freshness_us=NOON))
    content = run_ripple(spark, work(frame, place, rules=rules, **more))
    assert isinstance(content, SnapshotContent)
    return content.expectations


@pytest.mark.parametrize(
    ("fields", "passed", "observed"),
    [
        ({"kind": "unique", "columns": ("id",)}, False, "2 of 4 rows have id in common with another"),
        ({"kind": "unique", "columns": ("ID", "country")}, True,
         "0 of 4 rows have ID, country in common with another"),
        ({"kind": "matches", "column": "country", "pattern": "[A-Z]+"}, False,
         "1 of 4 rows have country not matching [A-Z]+"),
        ({"kind": "matches", "column": "country", "pattern": "d|DE|fr"}, True,
         "0 of 4 rows have country not matching d|DE|fr"),
        ({"kind": "fresh", "column": "at", "within_us": HOUR}, True,
         "the newest at is 2026-01-01T11:00:00Z, 1:00:00 before the Run's freshness"),
        ({"kind": "fresh", "column": "at", "within_us": HOUR - 1}, False,
         "the newest at is 2026-01-01T11:00:00Z, 1:00:00 before the Run's freshness"),
        ({"kind": "fresh", "column": "day", "within_us": 13 * HOUR}, True,
         "the newest day is 2026-01-01T00:00:00Z, 12:00:00 before the Run's freshness"),
        ({"kind": "volume", "maximum": 0.5, "of_last": 3}, False, "4 rows, +100.0% beside 2, the median of the last 3"),
        ({"kind": "volume", "maximum": 1.0, "of_last": 3}, True, "4 rows, +100.0% beside 2, the median of the last 3"),
        ({"kind": "volume", "maximum": 0.5, "of_last": 1}, False, "4 rows, -60.0% beside 10, the median of the last 1"),
    ],
)  # fmt: skip
def test_rules_of_whole_tables(
    spark: SparkSession, place: Callable[[], Path], fields: dict[str, Any], passed: bool, observed: str
) -> None:
    [seen] = judged(spark, place(), rule(severity="warn", **fields), volumes=(10, 2, 1, 500))
    assert (seen.passed, seen.observed) == (passed, observed)


def test_a_foreign_key_is_looked_up_in_the_other_table(
    spark: SparkSession, place: Callable[[], Path], countries: SnapshotContent
) -> None:
    one = rule("foreign_key", column="country", refers="world.countries", key="code", severity="warn")
    [seen] = judged(spark, place(), one, inputs={one.input: countries})
    assert (seen.passed, seen.observed) == (False, "1 of 4 rows have country not in world.countries.code")
    [seen] = judged(spark, place(), one, inputs={one.input: None})
    assert seen.broken == 3, "a table that has never published has no key"


def test_only_a_rule_that_judges_by_the_time_forbids_to_reuse_its_result(
    spark: SparkSession, place: Callable[[], Path]
) -> None:
    old = rule("fresh", column="at", within_us=HOUR)
    assert run_ripple(spark, work(frame, place(), rules=(old,), run=Run(freshness_us=NOON))).read_freshness  # type: ignore[union-attr]
    few = rule("volume", maximum=0.5, of_last=3)
    assert not run_ripple(spark, work(frame, place(), rules=(few,))).read_freshness  # type: ignore[union-attr]


def test_rules_that_the_write_can_answer_cost_no_job(
    spark: SparkSession, driver: SparkDriver, token: str, place: Callable[[], Path]
) -> None:
    rules = (
        rule("matches", column="country", pattern="[A-Za-z]+"),
        rule("fresh", column="at", within_us=HOUR),
        rule("volume", maximum=9.0, of_last=3),
        rule("in_set", column="country", values=("DE", "fr"), quarantine=True),
        rule("not_null", column="country", severity="warn"),
    )
    many = work(lambda spark: frame(spark).coalesce(1), place(), rules=rules, run=Run(freshness_us=NOON), volumes=(4,))
    assert run_ripple(spark, many).set_aside is None  # type: ignore[union-attr]
    assert len(driver.backend.jobs(token)) == 1  # type: ignore[attr-defined]


def test_a_field_of_a_struct_can_be_unique(spark: SparkSession, place: Callable[[], Path]) -> None:
    asked = rule("unique", columns=("key.a", "name"), severity="warn")
    content = run_ripple(
        spark,
        work(
            lambda spark: spark.sql("select named_struct('a', a, 'b', b) as key, 'x' as name from values"
                                    " (1, 1), (1, 2), (2, 1), (null, 1), (null, 1) t(a, b)"),
            place(),
            rules=(asked,),
        ),
    )  # fmt: skip
    assert isinstance(content, SnapshotContent)
    assert content.expectations[0].broken == 2
    (found,) = breaking_rows(spark, content, [asked], checks={}, tables={}, limit=5)
    assert sorted(found.rows.rows, key=str) == [[{"a": 1, "b": 1}, "x"], [{"a": 1, "b": 2}, "x"]]


def test_unique_reads_what_was_written_once_and_not_the_plan_again(
    spark: SparkSession, driver: SparkDriver, token: str, place: Callable[[], Path]
) -> None:
    seen = spark.sparkContext.accumulator(0)

    def counted(row: Any) -> Any:
        seen.add(1)
        return row

    def rows(spark: SparkSession) -> DataFrame:
        return spark.createDataFrame(
            spark.sparkContext.parallelize(ROWS, 1).map(counted), "id int, c string, at string"
        )

    run_ripple(spark, work(rows, place(), rules=(rule("unique", columns=("id",), severity="warn"),)))
    assert seen.value == len(ROWS)
    # Adaptive execution runs each stage of the one shuffle as a job of its own.
    assert len(driver.backend.jobs(token)) <= 4  # type: ignore[attr-defined]


def test_rows_that_break_a_rule_are_set_aside_with_the_reason(
    spark: SparkSession, place: Callable[[], Path], countries: SnapshotContent
) -> None:
    rules = (
        rule("not_null", column="id", quarantine=True),
        rule("foreign_key", column="country", refers="countries", key="code", quarantine=True),
        rule("rows", minimum=2, maximum=2),
        rule("unique", columns=("id",)),
        rule("in_set", column="id", values=(1, 2)),
    )
    given = work(frame, place(), rules=rules, inputs={rules[1].input: countries})
    content = run_ripple(spark, given)
    assert isinstance(content, SnapshotContent)
    assert sorted(row.country or "" for row in read_snapshot(spark, content).collect()) == ["", "DE"]
    assert content.rows == 2
    assert content.bad is not None
    bad = read_snapshot(spark, content.bad).select("id", "country", "_bad").orderBy("id").collect()
    assert [tuple(row) for row in bad] == [(None, "DE", "not_null(id)"), (2, "fr", "foreign_key(country)")]
    assert [(each.passed, each.broken, each.is_set_aside) for each in content.expectations[:2]] == [(True, 1, True)] * 2
    assert content.expectations[0].observed == "1 of 4 rows have id null: set aside"
    # Whoever looks into the directory finds the rows that are left, and no others.
    assert spark.read.parquet(f"file:{content.path}").count() == 2
    assert {Path(each).parent.name for each in content.paths} == {Path(content.path).name}


def test_rows_are_set_aside_without_computing_the_plan_again(spark: SparkSession, place: Callable[[], Path]) -> None:
    seen = spark.sparkContext.accumulator(0)

    def counted(row: Any) -> Any:
        seen.add(1)
        return row

    def rows(spark: SparkSession) -> DataFrame:
        return spark.createDataFrame(
            spark.sparkContext.parallelize(ROWS, 1).map(counted), "id int, c string, at string"
        )

    content = run_ripple(spark, work(rows, place(), rules=(rule("between", column="id", maximum=1, quarantine=True),)))
    assert (content.rows, content.set_aside.rows, seen.value) == (2, 2, len(ROWS))  # type: ignore[union-attr]


@pytest.mark.parametrize(("most", "is_published"), [(1, True), (0, False), (0.25, True), (0.2, False), (None, True)])
def test_more_rows_than_allowed_fail_the_ripple(
    spark: SparkSession, place: Callable[[], Path], most: float | None, is_published: bool
) -> None:
    one = work(frame, place(), rules=(rule("not_null", column="id", quarantine=True, at_most=most),))
    if is_published:
        assert run_ripple(spark, one).rows == 3  # type: ignore[union-attr]
        return
    with pytest.raises(ExpectationFailed, match=r"1 of 4 rows have id null: more than the .* may be set aside"):
        run_ripple(spark, one)


def test_a_result_that_has_the_column_of_the_reason_cannot_set_rows_aside(
    spark: SparkSession, place: Callable[[], Path]
) -> None:
    rows = work(lambda spark: spark.sql("select 1 as id, 'x' as _bad"), place(),
                rules=(rule("not_null", column="id", quarantine=True),))  # fmt: skip
    with pytest.raises(BadExpectation, match="column _bad"):
        run_ripple(spark, rows)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (rule("unique", columns=("nope",)), "no column nope"),
        (rule("matches", column="id", pattern="x"), "id is of type int"),
        (rule("fresh", column="country", within_us=1), "country is of type string"),
    ],
)
def test_a_rule_that_makes_no_sense_for_the_column(
    spark: SparkSession, place: Callable[[], Path], one: ExpectationDefinition, message: str
) -> None:
    with pytest.raises(BadExpectation, match=message):
        run_ripple(spark, work(frame, place(), rules=(one,)))


def stored(spark: SparkSession, place: Path, sql: str) -> SnapshotContent:
    content = run_ripple(spark, work(lambda spark: spark.sql(sql), place))
    assert isinstance(content, SnapshotContent)
    return content


def test_two_states_are_compared_by_key_with_the_columns_that_differ(
    spark: SparkSession, place: Callable[[], Path]
) -> None:
    before = stored(
        spark,
        place(),
        "select * from values (1, 'a', map('x', 1)), (2, 'b', null), (null, 'c', null) t(id, name, more)",
    )
    after = stored(
        spark, place(), "select id, name, more, 1.5D as extra from values (1L, 'a', map('x', 2)), (3L, null, null),"
        " (null, 'c', null) t(id, name, more)",
    )  # fmt: skip
    found = compare(spark, "orders", before, after, keys=("id",), limit=20)
    assert [(each.column, each.before, each.after) for each in found.schema] == [
        ("id", "int", "bigint"),
        ("extra", None, "double"),
    ]
    assert (found.added, found.removed, found.changed, found.columns) == (1, 1, 1, {"more": 1})
    assert found.sample is not None
    assert ["changed", 1, [{"column": "more", "before": '{"x":1}', "after": '{"x":2}'}]] in found.sample.rows
    assert compare(spark, "orders", before, before, keys=("id",), limit=20).sample is None
    assert compare(spark, "orders", None, after, keys=("id",), limit=20).added == 3


@pytest.mark.parametrize("keys", [("id",), ()])
def test_a_column_of_another_type_is_compared_as_text(
    spark: SparkSession, place: Callable[[], Path], keys: tuple[str, ...]
) -> None:
    before = stored(spark, place(), "select '1' as id, 5 as size, 7 as more, named_struct('a', 1) as address")
    after = stored(
        spark,
        place(),
        "select 1 as id, '5' as size, array(7) as more, named_struct('a', 1, 'b', cast(null as int)) as address",
    )
    found = compare(spark, "orders", before, after, keys=keys, limit=20)
    assert [each.column for each in found.schema] == ["id", "size", "more", "address"]
    assert found.sample is not None
    if keys:
        assert (found.added, found.removed, found.columns) == (0, 0, {"more": 1})
        assert found.sample.rows == (["changed", "1", [{"column": "more", "before": "7", "after": "[7]"}]],)
    else:
        assert (found.added, found.removed) == (1, 1)


def test_without_a_key_whole_rows_are_counted(spark: SparkSession, place: Callable[[], Path]) -> None:
    before = stored(spark, place(), "select * from values (1), (1), (2) t(id)")
    after = stored(spark, place(), "select * from values (1), (2), (null) t(id)")
    found = compare(spark, "orders", before, after, keys=(), limit=20)
    assert (found.added, found.removed, found.changed) == (1, 1, 0)
    assert found.sample is not None
    assert sorted(found.sample.rows, key=str) == [["added", None], ["removed", 1]]
    with pytest.raises(PondageError, match="id is not unique: 1 keys are there twice"):
        compare(spark, "orders", before, after, keys=("id",), limit=20)


@pytest.mark.parametrize("keys", [("id",), ()])
def test_what_the_order_of_a_sum_changes_in_a_number_is_no_difference(
    spark: SparkSession, place: Callable[[], Path], keys: tuple[str, ...]
) -> None:
    numbers = "stack(5, 1, {}, 2, {}, 3, {}, 4, double('NaN'), 5, double('Infinity')) as (id, value)"
    before = stored(spark, place(), f"select {numbers.format('0.3D', '0D', '1e6D')}")
    after = stored(spark, place(), f"select {numbers.format('0.1D + 0.2D', '-1e-15D', '1000000.0000000001D')}")
    found = compare(spark, "sums", before, after, keys=keys, limit=20, tolerance=1e-12)
    assert (found.added, found.removed, found.changed, found.columns) == (0, 0, 0, {})
    exact = compare(spark, "sums", before, after, keys=keys, limit=20)
    assert max(exact.added, exact.changed) == 3, "without a tolerance each of them differs"
    beyond = stored(spark, place(), f"select {numbers.format('0.3000001D', '0D', '1e6D')}")
    assert _differing(compare(spark, "sums", before, beyond, keys=keys, limit=20, tolerance=1e-12)) == 1
    assert _differing(compare(spark, "sums", before, beyond, keys=keys, limit=20, tolerance=1e-3)) == 0


def _differing(found: TableDifference) -> int:
    return max(found.added, found.changed)


def test_no_tolerance_makes_an_endless_number_or_none_at_all_the_same_as_another(
    spark: SparkSession, place: Callable[[], Path]
) -> None:
    kinds = ("double('NaN')", "double('Infinity')", "cast(null as double)", "1D")
    states = [stored(spark, place(), f"select 1 as id, {kind} as value") for kind in kinds]
    for at, before in enumerate(states):
        for other, after in enumerate(states):
            found = compare(spark, "t", before, after, keys=("id",), limit=0, tolerance=1.0)
            assert found.changed == (at != other), (kinds[at], kinds[other])


def test_changed_rows_of_a_merge_are_set_aside_before_they_reach_the_table(
    spark: SparkSession, place: Callable[[], Path]
) -> None:
    def changes(spark: SparkSession) -> DataFrame:
        return spark.sql(
            "select * from values (1, 'a', false), (2, null, false), (3, null, true) t(id, name, _deleted)"
        )

    given = work(changes, place(), rules=(rule("not_null", column="name", quarantine=True),))
    content = run_ripple(spark, msgspec.structs.replace(given, merge=Merge(keys=("id",), base=lambda: None)))
    assert isinstance(content, SnapshotContent)
    assert [tuple(row) for row in read_snapshot(spark, content).collect()] == [(1, "a")]
    assert content.bad is not None
    assert [row.id for row in read_snapshot(spark, content.bad).collect()] == [2], "a deletion breaks no rule"
