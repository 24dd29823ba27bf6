from __future__ import annotations

import datetime as dt
import json
import math
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from pondage.spark.files.read import NoSuchColumn, read_snapshot
from pondage.spark.files.write import OutputRefused, write_files
from pondage.spark.session.driver import SparkDriver
from pondage.work.snapshot import SnapshotContent

pytestmark = pytest.mark.spark

EVERYTHING = """
    `id` int, `tiny` byte, `text` string, `ratio` double, `price` decimal(10,2), `big` decimal(30,4), `day` date,
    `at` timestamp, `local` timestamp_ntz, `list` array<int>, `map` map<string,int>,
    `inner` struct<`x`: int, `list`: array<struct<`y`: string>>>, `raw` binary, `flag` boolean, `a.b c` string
"""


def everything(spark: SparkSession) -> DataFrame:
    row = (
        1, 2, "ü", 1.5, Decimal("3.20"), Decimal("12345678901234567890.1234"), dt.date(2026, 2, 28),
        dt.datetime(2026, 2, 28, 12, tzinfo=dt.UTC), dt.datetime(2026, 2, 28, 12), [1, None],  # noqa: DTZ001
        {"k": None}, (7, [("z",)]), b"\x00\xff", True, "dotted",
    )  # fmt: skip
    return spark.createDataFrame([row, tuple([None] * len(row))], EVERYTHING)


def written(frame: DataFrame, destination: Path) -> SnapshotContent:
    return write_files(frame, str(destination)).as_content()


def test_every_type_comes_back_as_it_was(spark: SparkSession, place: Callable[[], Path]) -> None:
    frame = everything(spark)
    content = written(frame, place())
    back = read_snapshot(spark, content)
    assert back.schema == frame.schema
    assert sorted(back.collect(), key=str) == sorted(frame.collect(), key=str)
    assert content.rows == 2
    assert content.bytes == sum(path.stat().st_size for path in map(Path, content.paths))


def test_what_is_written_is_on_the_disk_before_it_is_answered(
    spark: SparkSession, place: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 16 of the fault matrix: after a loss of power every file that a commit names can be read."""
    synced: list[int] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        synced.append(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", fsync)
    content = written(spark.range(10).repartition(3), place())
    directory = Path(content.path)
    files = [Path(path) for path in content.paths]
    assert len(files) > 1
    # A file's own directory last: only then does its name lead to what is there already.
    order = [each.stat().st_ino for each in (*files, directory)]
    assert [each for each in synced if each in order] == order
    assert {each.stat().st_ino for each in list(directory.parents)[:3]} <= set(synced), "dataset, Run and data"


def test_statistics_of_every_file_and_flat_column_are_kept(spark: SparkSession, place: Callable[[], Path]) -> None:
    content = written(everything(spark).coalesce(1), place())
    [file] = content.files
    seen = {name: (each.nulls, each.minimum, each.maximum) for name, each in file.columns.items()}
    assert seen["id"] == (1, 1, 1)
    assert seen["price"] == (1, "3.20", "3.20")
    assert seen["big"] == (1, "12345678901234567890.1234", "12345678901234567890.1234")
    assert seen["day"] == (1, "2026-02-28", "2026-02-28")
    assert seen["at"] == (1, "2026-02-28T12:00:00+00:00", "2026-02-28T12:00:00+00:00")
    assert seen["local"][1] == "2026-02-28T12:00:00"
    assert seen["a.b c"] == (1, "dotted", "dotted")
    assert seen["raw"] == (1, None, None)
    assert not {"list", "map", "inner"} & seen.keys()


def test_very_long_texts_keep_their_null_count_and_short_bounds(spark: SparkSession, place: Callable[[], Path]) -> None:
    frame = spark.range(3).select(F.when(F.col("id") > 0, F.repeat(F.lit("x"), 9000)).alias("text"))
    content = written(frame.coalesce(1), place())
    column = content.files[0].columns["text"]
    assert column.nulls == 1
    assert column.minimum == "x" * 64
    assert column.maximum == "x" * 63 + "y"


def test_nan_is_stored_and_bounds_nothing(spark: SparkSession, place: Callable[[], Path]) -> None:
    frame = spark.createDataFrame([(1.0,), (math.nan,)], "x double").coalesce(1)
    content = written(frame, place())
    assert content.files[0].columns["x"].maximum is None
    assert math.isnan(max(row.x for row in read_snapshot(spark, content).collect() if math.isnan(row.x)))


def test_an_empty_result_has_no_files_and_keeps_its_schema(spark: SparkSession, place: Callable[[], Path]) -> None:
    frame = everything(spark).where("false")
    content = written(frame, place())
    assert (content.files, content.rows, content.bytes) == ((), 0, 0)
    back = read_snapshot(spark, content)
    assert [(field.name, field.dataType) for field in back.schema] == [
        (field.name, field.dataType) for field in frame.schema
    ]
    assert back.collect() == []
    assert read_snapshot(spark, content, columns=["day"]).columns == ["day"]


def test_reading_runs_no_job(spark: SparkSession, driver: SparkDriver, token: str, place: Callable[[], Path]) -> None:
    content = written(spark.range(100, numPartitions=4).toDF("x"), place())
    jobs = driver.backend.jobs(token)  # type: ignore[attr-defined]
    frame = read_snapshot(spark, content)
    assert frame.columns == ["x"]
    assert driver.backend.jobs(token) == jobs  # type: ignore[attr-defined]
    assert len(content.files) == 4


def test_only_the_listed_files_are_read(spark: SparkSession, place: Callable[[], Path]) -> None:
    destination = place()
    content = written(spark.range(3).toDF("x"), destination)
    (destination / "part-9999-zombie.parquet").write_bytes(Path(content.paths[0]).read_bytes())
    assert read_snapshot(spark, content).count() == 3


def test_columns_are_pruned_by_the_reader(spark: SparkSession, place: Callable[[], Path]) -> None:
    content = written(everything(spark), place())
    assert read_snapshot(spark, content, columns=["a.b c", "id"]).columns == ["a.b c", "id"]
    with pytest.raises(NoSuchColumn, match="no column nope; the table has id, tiny"):
        read_snapshot(spark, content, columns=["id", "nope"])


def test_old_files_read_with_todays_schema_give_nulls_and_wider_types(
    spark: SparkSession, place: Callable[[], Path]
) -> None:
    old = spark.createDataFrame([(1, 1.5, Decimal("1.25"))], "a int, b float, c decimal(5,2)")
    content = written(old, place())
    today = StructType.fromDDL("a long, b double, c decimal(12,2), d string")
    back = read_snapshot(spark, content, schema=today.json())
    assert back.schema == today
    assert [tuple(row) for row in back.collect()] == [(1, 1.5, Decimal("1.25"), None)]


def test_a_place_with_strange_characters_works(spark: SparkSession, tmp_path: Path) -> None:
    content = written(spark.range(3).toDF("x"), tmp_path / "a b" / "x=1" / "{c}[d]*%20")
    frame = read_snapshot(spark, content)
    assert frame.columns == ["x"]
    assert frame.count() == 3


def test_nothing_is_ever_written_over(spark: SparkSession, place: Callable[[], Path]) -> None:
    destination = place()
    written(spark.range(3).toDF("x"), destination)
    with pytest.raises(Exception, match="PATH_ALREADY_EXISTS"):
        written(spark.range(4).toDF("x"), destination)


def test_the_directory_holds_data_files_only(spark: SparkSession, place: Callable[[], Path]) -> None:
    destination = place()
    content = written(spark.range(3).toDF("x"), destination)
    left = {path.name for path in destination.iterdir()}
    assert left >= {file.name for file in content.files}
    assert all(name.endswith(".parquet") for name in left)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT 1 AS a, 2 AS A", "more than one column named a, A"),
        ("SELECT 1 AS a, NULL AS b", "column b has no type"),
        ("SELECT array(NULL) AS b", "column b has no type"),
        ("SELECT named_struct('x', NULL) AS s", "column s has no type"),
    ],
)
def test_what_cannot_be_stored_is_refused_before_spark_works(
    spark: SparkSession, place: Callable[[], Path], sql: str, message: str
) -> None:
    destination = place()
    with pytest.raises(OutputRefused, match=message):
        write_files(spark.sql(sql), str(destination))
    assert not destination.exists()


def test_a_result_without_columns_is_refused(spark: SparkSession, place: Callable[[], Path]) -> None:
    with pytest.raises(OutputRefused, match="no columns"):
        write_files(spark.range(3).drop("id"), str(place()))


def test_the_content_is_json(spark: SparkSession, place: Callable[[], Path]) -> None:
    import msgspec

    content = written(everything(spark), place())
    text = msgspec.json.encode(content)
    assert msgspec.json.decode(text, type=SnapshotContent) == content
    assert json.loads(content.schema)["type"] == "struct"
