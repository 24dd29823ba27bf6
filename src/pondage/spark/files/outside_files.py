"""Reading and writing files that are not snapshots: what comes from outside, and what goes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pondage.errors import PondageError
from pondage.spark.files.storage import local_path, readable_path, spark_path
from pondage.spark.files.write import check_names
from pondage.spark.types.port_types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_text_files(
    session: SparkSession,
    form: str,
    place: str,
    columns: dict[str, str] | None,
    *,
    is_lenient: bool,
    options: Mapping[str, object],
) -> DataFrame:
    """Answer CSV or JSON files as a table; a line that does not fit fails, or gives nulls when lenient."""
    _require_there(place)
    reader = session.read.format(form).option("mode", "PERMISSIVE" if is_lenient else "FAILFAST")
    if columns is not None:
        reader = reader.schema(spark_schema(columns))
    given = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}
    if form == "csv" and columns is not None and options.get("header"):
        # The header is compared with the declared columns, so that a file of other columns is not read as these.
        given["enforceSchema"] = "false"
    return reader.options(**given).load(readable_path(place))


def read_parquet_files(session: SparkSession, place: str, columns: dict[str, str] | None) -> DataFrame:
    """Answer Parquet files as a table, with these columns only where they are given."""
    _require_there(place)
    reader = session.read if columns is None else session.read.schema(spark_schema(columns))
    frame = reader.parquet(readable_path(place))
    check_names(frame.schema)
    return frame


def write_out(frame: DataFrame, form: str, place: str, *, mode: str, options: Mapping[str, object]) -> None:
    """Write a table as files of a form into a directory."""
    given = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}
    if form == "parquet":
        check_names(frame.schema)
    frame.write.format(form).mode(mode).options(**given).save(spark_path(place))


def _require_there(place: str) -> None:
    local = local_path(place)
    if local is not None and not local.exists():
        raise PondageError(f"there is no file {place}", hint="correct `path`, or make it", code="NO_FILE")
