"""Streams that are read as tables: by Spark's workers, with every type, and nothing of them in the driver."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from pondage.define.types.segment import Segment
from pondage.spark.files import whole_streams
from pondage.spark.files.segments import DecodeError, frame_in, packed, written
from pondage.spark.files.whole_streams import whole_stream
from pondage.spark.session.errors import explained

pytestmark = pytest.mark.spark
TYPE = "Stream<{id: bigint, name: string}>"


def segment(place: Path, number: int, table: pa.Table) -> Segment:
    return written(str(place / "t1"), number, *packed(table))


def two(place: Path) -> list[Segment]:
    return [
        segment(place, 0, pa.table({"id": [1, 2], "name": ["a", None]})),
        segment(place, 1, pa.table({"id": [3], "name": ["c"]})),
    ]


def read(spark: SparkSession, segments: list[Segment], rows: str) -> DataFrame:
    found = whole_stream(spark, segments, "Table<Any>", rows=rows)
    assert isinstance(found, DataFrame)
    return found


def refused(frame: DataFrame) -> str:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever Spark makes of it
        frame.collect()
    found = explained(caught.value, where="n")
    assert found.code == "DECODE_ERROR", found
    return found.message


def test_segments_are_read_by_the_workers_of_spark_and_building_the_table_runs_no_job(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segments, context = two(tmp_path / "odd [name]"), spark.sparkContext
    monkeypatch.setattr(whole_streams, "read_bytes", lambda *_: pytest.fail("the driver reads a segment"))
    context.setJobGroup("whole", "the table of a stream")
    frame = read(spark, segments, TYPE)
    assert list(context.statusTracker().getJobIdsForGroup("whole")) == []
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "FileScan binaryFile" in plan
    assert "LocalTableScan" not in plan
    assert "ExistingRDD" not in plan
    assert sorted(map(tuple, frame.collect())) == [(1, "a"), (2, None), (3, "c")]


def test_every_type_of_columns_comes_through_a_stream_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql(
        """SELECT CAST(1 AS tinyint) a, CAST(2 AS smallint) b, 3 c, 4L d, 1.5f e, 2.5d f, 12.30BD g, true h, 'x' i,
                  X'00ff' j, DATE'2026-01-31' k, TIMESTAMP'2026-01-31 12:00:00' l, TIMESTAMP_NTZ'2026-01-31 12:00:00' m,
                  array(1, null) n, map('k', 1) o, named_struct('p', 1, 'q', array(named_struct('r', 'deep'))) s,
                  CAST(null AS string) t"""
    )
    one = written(str(tmp_path / "t1"), 0, *packed(frame.toArrow()))
    for found in (read(spark, [one], ""), frame_in(spark, one)):
        assert [field.dataType.simpleString() for field in found.schema] == [
            field.dataType.simpleString() for field in frame.schema
        ]
        assert found.collect() == frame.collect()


def test_segments_of_unknown_columns_are_put_together_and_what_one_lacks_is_null(
    spark: SparkSession, tmp_path: Path
) -> None:
    segments = [
        segment(tmp_path, 0, pa.table({"id": pa.array([1], pa.int32())})),
        segment(tmp_path, 1, pa.table({"id": [2], "name": ["b"]})),
    ]
    found = read(spark, segments, "Stream<Any>")
    assert found.schema.simpleString() == "struct<id:bigint,name:string>"
    assert sorted(map(tuple, found.collect())) == [(1, None), (2, "b")]


def test_a_segment_that_was_changed_or_is_of_another_type_is_a_decode_error(
    spark: SparkSession, tmp_path: Path
) -> None:
    other = segment(tmp_path, 0, pa.table({"id": ["one"], "name": ["a"]}))
    assert "not of its type" in refused(read(spark, [other], TYPE))
    more = segment(tmp_path, 1, pa.table({"id": [1], "name": ["a"], "more": [1]}))
    assert "has id, name, more, wanted id, name" in refused(read(spark, [more], TYPE))
    empty = segment(tmp_path, 2, pa.table({"id": pa.array([None], pa.int64())}))
    assert "not of its type" in refused(read(spark, [empty], "Stream<{id: bigint not null}>"))
    changed = segment(tmp_path, 3, pa.table({"id": [1], "name": ["a"]}))
    Path(changed.ref).write_bytes(Path(other.ref).read_bytes())
    assert "not what was written" in refused(read(spark, [changed], TYPE))
    Path(changed.ref).unlink()
    for rows in (TYPE, ""):
        with pytest.raises(DecodeError, match="cannot be read"):
            read(spark, [changed], rows)


def test_a_stream_without_segments_has_the_columns_that_are_known(spark: SparkSession) -> None:
    assert read(spark, [], TYPE).columns == ["id", "name"]
    with pytest.raises(DecodeError, match="no columns that are known"):
        read(spark, [], "Stream<Any>")
