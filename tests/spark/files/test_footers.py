from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from pondage.spark.files.footers import merged, read_footers, stored_value
from pondage.spark.files.storage import local_path, readable_path, spark_path


def test_footers_tell_rows_nulls_and_bounds_over_files_and_row_groups(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [5, None, 1], "t": ["b", "a", None]}), tmp_path / "a.parquet", row_group_size=1)
    pq.write_table(pa.table({"x": [9, 2], "t": ["c", "c"]}), tmp_path / "b.parquet")
    footers = read_footers(str(tmp_path))
    assert [(footer.name, footer.rows) for footer in footers] == [("a.parquet", 3), ("b.parquet", 2)]
    whole = merged(footers, "x")
    assert (whole.nulls, whole.minimum, whole.maximum) == (1, 1, 9)
    assert merged(footers, "t").nulls == 1
    assert merged(footers, "nowhere").nulls is None


def test_files_that_are_none_of_ours_are_not_seen(tmp_path: Path) -> None:
    for name in ("_SUCCESS", ".a.parquet.crc", "_temporary.parquet", "notes.txt"):
        (tmp_path / name).write_text("x")
    pq.write_table(pa.table({"x": pa.array([], pa.int64())}), tmp_path / "empty.parquet")
    assert read_footers(str(tmp_path)) == []


def test_a_column_named_with_a_dot_is_not_taken_for_a_field(tmp_path: Path) -> None:
    table = pa.table({"a": [{"b": 1, "c": 2}], "a.b": [7], "l": [[1, 2]], "m": pa.array([[("k", 1)]],
                      pa.map_(pa.string(), pa.int64())), "z": [3]})  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet")
    [footer] = read_footers(str(tmp_path))
    assert footer.columns["a.b"].maximum == 7
    assert footer.columns["z"].maximum == 3
    assert set(footer.columns) == {"a.b", "z"}


@pytest.mark.parametrize(
    ("value", "lower", "upper"),
    [
        (3, 3, 3),
        (True, True, True),
        (Decimal("1.50"), "1.50", "1.50"),
        (date(2026, 1, 31), "2026-01-31", "2026-01-31"),
        (datetime(2026, 1, 31, tzinfo=UTC), "2026-01-31T00:00:00+00:00", "2026-01-31T00:00:00+00:00"),
        (b"\x00", None, None),
        (float("inf"), None, None),
        ("a" * 65, "a" * 64, "a" * 63 + "b"),
        ("a" * 63 + "\U0010ffff" + "z", "a" * 63 + "\U0010ffff", "a" * 62 + "b"),
        ("\U0010ffff" * 65, "\U0010ffff" * 64, None),
    ],
)
def test_stored_bounds_are_json_and_still_bounds(value: object, lower: object, upper: object) -> None:
    assert stored_value(value, is_upper=False) == lower  # type: ignore[arg-type]
    assert stored_value(value, is_upper=True) == upper  # type: ignore[arg-type]


@pytest.mark.parametrize("place", ["/a/b", "file:/a/b", "file:///a/b"])
def test_local_places_are_named_explicitly(place: str) -> None:
    assert local_path(place) == Path("/a/b")
    assert spark_path(place) == "file:/a/b"


def test_a_place_on_another_file_system_is_left_as_it_is() -> None:
    assert local_path("s3a://bucket/x") is None
    assert spark_path("s3a://bucket/x") == "s3a://bucket/x"
    assert readable_path("/a[1]/b") == "file:/a\\[1\\]/b"
