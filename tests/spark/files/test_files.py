"""CSV, JSON and text with a declared schema: what breaks it has a place, a count and a limit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pondage import sources
from pondage.errors import PondageError
from pondage.spark.ripple.ripple import run_ripple
from pondage.spark.rules.expectations import ExpectationFailed
from tests.spark.pipeline import Pipeline
from tests.spark.support import rule, work

SCHEMA = "id long, amount double, day date"


def pairs(frame: object) -> list[tuple[object, ...]]:
    return [tuple(row) for row in frame.collect()]  # type: ignore[attr-defined]


def test_rows_of_a_csv_that_break_the_schema_are_kept_with_their_text(spark: SparkSession, tmp_path: Path) -> None:
    lines = ["id,amount,day", "1,2.5,2026-01-31", "two,1.0,2026-01-31", "3,4.0", "4,1.0,2026-02-01,more", "5,,"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    frame = sources.csv(spark, str(tmp_path), SCHEMA)
    assert frame.columns == ["id", "amount", "day", "_bad"]
    assert [row[0] for row in pairs(sources.good(frame).orderBy("id"))] == [1, 5]
    bad = {row[-1] for row in pairs(sources.rejected(frame))}
    assert bad == {"two,1.0,2026-01-31", "3,4.0", "4,1.0,2026-02-01,more"}
    assert sources.good(frame).select("day").count() == 2, "which columns are asked for changes nothing"


def test_a_csv_whose_header_names_other_columns_fails(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("amount,id,day\n1,2,2026-01-31\n")
    with pytest.raises(Exception, match=r"(?i)header"):
        sources.csv(spark, str(tmp_path), SCHEMA).collect()


def test_lines_of_json_that_are_no_such_object_are_kept_with_their_text(spark: SparkSession, tmp_path: Path) -> None:
    lines = ['{"id": 1, "amount": 2.5, "other": true}', '{"id": "x", "amount": 1.0}', '{"id": 3', '{"id": 4}']
    (tmp_path / "a.json").write_text("\n".join(lines))
    frame = sources.json(spark, str(tmp_path), "id long, amount double")
    assert sorted(pairs(sources.good(frame))) == [(1, 2.5), (4, None)]
    assert {row[-1] for row in pairs(sources.rejected(frame))} == {lines[1], lines[2]}


def test_lines_of_text_become_columns_by_a_pattern(spark: SparkSession, tmp_path: Path) -> None:
    lines = ["GET /a 200", "POST /b 201", "PUT /c many", "nonsense", "GET /d "]
    (tmp_path / "a.log").write_text("\n".join(lines))
    frame = sources.text(spark, str(tmp_path), r"^(\w+) (\S+) (\w*)$", "verb string, path string, status int")
    assert sorted(pairs(sources.good(frame)))[0] == ("GET", "/a", 200)
    assert {row[1] for row in pairs(sources.good(frame))} == {"/a", "/b", "/d"}
    assert {row[-1] for row in pairs(sources.rejected(frame))} == {"PUT /c many", "nonsense"}


def test_a_schema_may_not_take_the_place_of_bad_rows(spark: SparkSession) -> None:
    for schema in ("_bad string, id long", ""):
        with pytest.raises(PondageError, match="_bad"):
            sources.json(spark, "nowhere", schema)


@pytest.mark.parametrize(("limit", "is_kept"), [(2, True), (1, False), (0.5, True), (0.49, False)])
def test_a_run_fails_above_its_limit_of_bad_rows(
    spark: SparkSession, tmp_path: Path, place: Callable[[], Path], limit: float, is_kept: bool
) -> None:
    (tmp_path / "a.json").write_text('{"id": 1}\n{"id": 2}\n{"id": "x"}\nnothing\n')
    given = work(
        lambda spark: sources.json(spark, str(tmp_path / "a.json"), "id long"),
        place(),
        rules=(rule("bad_rows", column="_bad", maximum=limit),),
    )
    if is_kept:
        content = run_ripple(spark, given)
        assert content.expectations[0].observed == "2 of 4 rows could not be read"  # type: ignore[union-attr]
    else:
        with pytest.raises(ExpectationFailed, match="2 of 4 rows could not be read"):
            run_ripple(spark, given)


PONDS = """
from pondage import Pond, bad_rows, sources
shop = Pond("shop")

@shop.ripple(expect=[bad_rows(0.5)])
def landed(spark):
    return sources.json(spark, {landing!r}, "id long")

@shop.ripple
def orders(landed):
    return sources.good(landed)

@shop.ripple
def broken(landed):
    return sources.rejected(landed)
"""


def test_bad_rows_land_in_a_sibling_table_that_is_published_with_the_good_ones(
    deployed: Callable[[str], Pipeline], tmp_path: Path
) -> None:
    (tmp_path / "landing.json").write_text('{"id": 1}\n{"id": 2}\n{"id": "x"}\n')
    pipeline = deployed(PONDS.format(landing=str(tmp_path / "landing.json")))
    pipeline.run("shop")
    assert pipeline.failures == []
    rows = {table.ripple: table.content.rows for table in pipeline.published("shop").tables}
    assert rows == {"landed": 3, "orders": 2, "broken": 1}
