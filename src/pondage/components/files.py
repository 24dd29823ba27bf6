"""Components that read and write files: CSV, JSON, Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pondage.components.declarations import (
    ANY_TABLE,
    FILE,
    LOCATION,
    PATH,
    TEXT,
    TYPES,
    choice,
    declared,
    deterministic,
    exposed,
    parameters,
    table_of,
)
from pondage.define.types.port import Port
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pondage.spark.component.spark_run import SparkRun

_FLAG = {"type": "boolean"}
_ELEMENT = {"input": Port("Value<Any>", required=False, job_only=True)}
_MODE = choice("error", "overwrite", "append")
_PLACE = {"path": PATH, "location": LOCATION, "file": FILE}


def _to_file(**properties: Mapping[str, object]) -> dict[str, object]:
    """Declare parameters of a writer: a path, or a file below a location."""
    return {**parameters(**properties), "oneOf": [{"required": ["path"]}, {"required": ["location", "file"]}]}


def _declared(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    del inputs
    columns: Any = params.get("columns")
    return {"main": table_of(declared(columns))} if columns else {}


def _place(given: Mapping[str, Any], run: SparkRun) -> str | None:
    """Answer a `path`, or a `file` below a `location`; None when neither is given."""
    if {"location", "file"} <= given.keys():
        return f"{run.path(str(given['location'])).rstrip('/')}/{given['file']}"
    return run.path(given["path"]) if "path" in given else None


def _source(element: object, params: Mapping[str, Any], run: SparkRun) -> str:
    """Answer what to read: the element of an iterator over files, else what the parameters say."""
    if isinstance(element, Mapping) and {"location", "file"} <= element.keys():
        return f"{run.path(str(element['location'])).rstrip('/')}/{element['file']}"
    found = None if element is not None else _place(params, run)
    if found is not None:
        return found
    raise PondageError(
        "nothing says what to read", hint="give `path`, or connect the item of an iterator over files", code="NO_PATH"
    )


@deterministic(
    "read_csv",
    inputs=_ELEMENT,
    outputs={"main": ANY_TABLE},
    params=parameters(
        path=PATH,
        location=LOCATION,
        file=FILE,
        columns=TYPES,
        header=_FLAG,
        separator=TEXT,
        on_error=choice("fail", "null"),
    ),
    schema=_declared,
)
def read_csv(input: object = None, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Read CSV files: a `path`, a `file` below a `location`, or the file that an iterator over files gives.

    `columns: {id: bigint}` says what to expect; without it every column is a text. A line that does not fit makes the
    component fail, or gives nulls with `on_error: "null"`.
    """
    from pondage.spark.files.outside_files import read_text_files

    return read_text_files(
        run.spark, "csv", _source(input, params, run), params.get("columns"),
        is_lenient=params.get("on_error") == "null",
        options={"header": params.get("header", True), "sep": params.get("separator", ",")},
    )  # fmt: skip


@deterministic(
    "read_json",
    inputs=_ELEMENT,
    outputs={"main": ANY_TABLE},
    params=parameters(**_PLACE, columns=TYPES, multiline=_FLAG, on_error=choice("fail", "null")),
    schema=_declared,
)
def read_json(input: object = None, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Read JSON files with one object on each line, or one document with `multiline`; otherwise like read_csv.

    Without `columns` Spark looks through the files once more to find them.
    """
    from pondage.spark.files.outside_files import read_text_files

    return read_text_files(
        run.spark, "json", _source(input, params, run), params.get("columns"),
        is_lenient=params.get("on_error") == "null", options={"multiLine": params.get("multiline", False)},
    )  # fmt: skip


@deterministic(
    "read_parquet",
    inputs=_ELEMENT,
    outputs={"main": ANY_TABLE},
    params=parameters(**_PLACE, columns=TYPES),
    schema=_declared,
)
def read_parquet(
    input: object = None,  # noqa: A002 - the port
    *,
    params: Mapping[str, Any],
    run: SparkRun,
) -> DataFrame:
    """Read Parquet files: a `path`, or the file that an iterator over files gives; `columns` reads only those."""
    from pondage.spark.files.outside_files import read_parquet_files

    return read_parquet_files(run.spark, _source(input, params, run), params.get("columns"))


def _write(
    frame: DataFrame, form: str, params: Mapping[str, Any], run: SparkRun, options: Mapping[str, object]
) -> None:
    from pondage.spark.files.outside_files import write_out

    place = _place(params, run)
    assert place is not None, "the schema of the parameters asks for a place"
    write_out(frame, form, place, mode=params.get("mode", "error"), options=options)
    if "input" in run.rows:
        run.after["rows"] = run.rows["input"]


@exposed(
    "write_csv",
    inputs={"input": ANY_TABLE},
    params=_to_file(**_PLACE, mode=_MODE, header=_FLAG, separator=TEXT),
    after=("rows",),
)
def write_csv(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> None:  # noqa: A002 - the port
    """Write CSV files into the directory `path`; `mode: error|overwrite|append` says what if it exists."""
    options = {"header": params.get("header", True), "sep": params.get("separator", ",")}
    _write(input, "csv", params, run, options)


@exposed(
    "write_json",
    inputs={"input": ANY_TABLE},
    params=_to_file(**_PLACE, mode=_MODE),
    after=("rows",),
)
def write_json(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> None:  # noqa: A002 - the port
    """Write JSON files, one object on each line, into the directory `path`."""
    _write(input, "json", params, run, {})


@exposed(
    "write_parquet",
    inputs={"input": ANY_TABLE},
    params=_to_file(**_PLACE, mode=_MODE),
    after=("rows",),
)
def write_parquet(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> None:  # noqa: A002 - the port
    """Write Parquet files into the directory `path`."""
    _write(input, "parquet", params, run, {})
