"""The iterator, which repeats the components behind it, and the list of files as a table."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pondage.components.declarations import ANY_TABLE, COUNT, EXPRESSION, NAME, TEXT, choice, parameters, shipped
from pondage.define.job.component import component
from pondage.define.types.port import Port, natural_order
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pondage.define.job.component_run import ComponentRun
    from pondage.spark.component.spark_run import SparkRun

MAX_ITERATIONS = 10_000
MAX_ROWS_OF_GROUPS = 100_000
FILE_TYPE = "Table<{location: string, file: string, size: bigint, modified_at: string}>"
_POSITIVE = {"type": "integer", "minimum": 1}


class TooMany(PondageError):
    """A collection has more elements than the iterator may have iterations."""

    code = "FANOUT_LIMIT"


@shipped(
    "iterator",
    kind="iterator",
    inputs={"input": Port(ANY_TABLE, required=False)},
    outputs={"item": "Any"},
    params=parameters(
        mode=choice("rows", "groups", "files", "while"), key=NAME, location=NAME, glob=NAME, condition=EXPRESSION,
        parallel=_POSITIVE, fail_strategy=choice("halt", "continue"), tolerate={"type": ["integer", "string"]},
        globals=choice("accumulate", "reset", "override"), max_iterations=_POSITIVE,
    ),
)  # fmt: skip
def iterator(
    input: DataFrame | None = None,  # noqa: A002 - the port
    *,
    params: Mapping[str, Any],
    run: SparkRun,
) -> list[object] | None:
    """Repeat what is connected to its port `item` for each element.

    `mode: rows` takes the rows of the input, `groups` its rows by `key`, `files` the files of a `location` that fit
    `glob`, and `while` repeats as long as a `condition` holds. More than `max_iterations` (10,000) elements fail.
    """
    limit = params.get("max_iterations", MAX_ITERATIONS)
    match params.get("mode", "rows"):
        case "while":
            return None
        case "files":
            return list(files(run, params["location"], params["glob"], limit=limit))
        case "groups":
            return _groups(_required(input), params["key"], limit)
        case _:
            return _rows(_required(input), limit)


def _required(frame: DataFrame | None) -> DataFrame:
    if frame is None:
        raise PondageError("the iterator has no input", hint="connect a table to its port `input`", code="NO_INPUT")
    return frame


def _rows(frame: DataFrame, limit: int) -> list[object]:
    found = frame.limit(limit + 1).collect()
    if len(found) > limit:
        raise TooMany(f"the input has more than {limit} rows")
    return [row.asDict(recursive=True) for row in found]


def _groups(frame: DataFrame, key: str, limit: int) -> list[object]:
    from pondage.spark.component.columns import require_columns

    (column,) = require_columns(frame, [key])
    found = frame.orderBy(column).limit(MAX_ROWS_OF_GROUPS + 1).collect()
    if len(found) > MAX_ROWS_OF_GROUPS:
        raise TooMany(f"the groups have more than {MAX_ROWS_OF_GROUPS} rows")
    groups: dict[object, list[object]] = {}
    for row in found:
        groups.setdefault(row[key], []).append(row.asDict(recursive=True))
    if len(groups) > limit:
        raise TooMany(f"there are more than {limit} groups")
    return list(groups.values())


@component(
    "file_list",
    outputs={"main": FILE_TYPE},
    params=parameters("location", "glob", location=TEXT, glob=TEXT, limit=COUNT),
    after=("files",),
    globals=(),
)
def file_list(*, params: Mapping[str, Any], run: SparkRun) -> DataFrame:
    """List the files of a `location` that fit `glob`, in natural order; the after-variable `files` is their number."""
    found = files(run, params["location"], params["glob"], limit=params.get("limit", MAX_ITERATIONS))
    run.after["files"] = len(found)
    from pondage.spark.component.columns import literal_table

    columns = {"location": "string", "file": "string", "size": "bigint", "modified_at": "string"}
    return literal_table(run.spark, columns, [list(one.values()) for one in found])


class NoLocation(PondageError):
    """A location is no directory that this worker can list."""

    code = "NO_LOCATION"


def files(run: ComponentRun, location: str, pattern: str, *, limit: int) -> list[dict[str, object]]:
    """Answer `{location, file, size, modified_at}` of each file; raises NoLocation, and FANOUT_LIMIT beyond `limit`."""
    place = run.path(location)
    if "://" in place:
        raise NoLocation(f"{location} is not on this machine's disk", hint="name a directory")
    directory = Path(place)
    if not directory.is_dir():
        raise NoLocation(f"there is no directory {location}", hint="make it, or correct `location`")
    if ".." in Path(pattern).parts or pattern.startswith("/"):
        raise NoLocation(f"{pattern!r} leads out of the location", hint="use a pattern like *.csv or 2026/*.csv")
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder) / name
            shown = path.relative_to(directory).as_posix()
            if name[0] not in "._" and _fits(shown, pattern):
                found[shown] = path
        if len(found) > limit:
            raise PondageError(f"more than {limit} files fit {pattern!r}", code="FANOUT_LIMIT")
    return [_element(location, name, found[name]) for name in natural_order(found)]


def _fits(shown: str, pattern: str) -> bool:
    """A star stays inside one folder."""
    parts, wanted = shown.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


def _element(location: str, name: str, path: Path) -> dict[str, object]:
    about = path.stat()
    modified = datetime.fromtimestamp(about.st_mtime, UTC).isoformat(timespec="milliseconds")
    return {"location": location, "file": name, "size": about.st_size, "modified_at": modified}
