"""Rows of fires as files of a snapshot: Arrow in, Parquet out, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal

import msgspec
import pyarrow as pa
from pyarrow import fs
from pyarrow import parquet as pq

from pondage.define.reactor.boundary import BoundaryType, InvalidBoundary
from pondage.define.values.row_type import Column, columns_of, spark_schema
from pondage.spark.files.footers import read_footers
from pondage.spark.files.storage import local_path, secure
from pondage.work.snapshot import SnapshotContent

MOST_DIGITS = 76
"""Beyond so many digits, before or behind the point, Arrow reads memory that is not its own, and the process ends."""
MOST_BYTES = 64 << 20
"""A file is not longer than this, before it is compressed."""
_PLAIN = {
    "boolean": pa.bool_(),
    "long": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "date": pa.date32(),
    "decimal(38,18)": pa.decimal128(38, 18),
}


class Table:
    """The table that a type of rows makes."""

    def __init__(self, schema: BoundaryType[object], *, place: str = "") -> None:
        columns = columns_of(schema.type, place=place)
        self.schema = spark_schema(columns)
        self._type = schema.type
        self._arrow = pa.schema([_field(each) for each in columns])
        self._has_decimals = any(_has_decimals(each) for each in columns)

    def require_fit(self, rows: Sequence[object]) -> None:
        """Raise InvalidBoundary for rows that are of the type and that no file can hold, such as too long decimals."""
        try:
            self._made(rows)
        except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
            raise InvalidBoundary("$", f"it does not fit the published columns: {error}") from error

    def refusal(self, rows: str) -> str | None:
        """Answer why rows, as a journal keeps them, are not of this table; None when they are."""
        try:
            self._made(msgspec.json.decode(rows, type=list[self._type]))  # type: ignore[name-defined]
        except (pa.ArrowException, OverflowError, ValueError, TypeError, msgspec.MsgspecError) as error:
            return f"it does not fit the published columns: {error}"
        return None

    def _made(self, rows: Sequence[object]) -> pa.Table:
        plain = msgspec.to_builtins(list(rows), builtin_types=(bytes, datetime, date, Decimal))
        if self._has_decimals:
            _check_decimals(plain)
        return pa.Table.from_pylist(plain, schema=self._arrow)

    def write(self, rows: Sequence[object], destination: str) -> SnapshotContent:
        """Write plain rows, as a journal keeps them, to a directory that nobody knows; answer the snapshot."""
        typed = msgspec.convert(list(rows), list[self._type])  # type: ignore[name-defined]
        table = self._made(typed)
        system, directory = _opened(destination)
        step = max(1, table.num_rows * MOST_BYTES // max(table.nbytes, MOST_BYTES))
        for number, start in enumerate(range(0, table.num_rows, step)):
            with system.open_output_stream(f"{directory}/part-{number:05}.parquet") as file:
                pq.write_table(table.slice(start, step), file, compression="zstd")
        footers = read_footers(destination)
        secure(destination, [each.name for each in footers])
        files = tuple(each.as_data_file() for each in footers)
        return SnapshotContent(
            path=destination,
            files=files,
            schema=self.schema,
            rows=sum(each.rows for each in files),
            bytes=sum(each.bytes for each in files),
        )


def _has_decimals(column: Column) -> bool:
    return column.type.startswith("decimal") or any(_has_decimals(each) for each in column.parts)


def _check_decimals(value: object) -> None:
    """Raise ValueError for a decimal that must not come near Arrow."""
    match value:
        case dict():
            for inner in value.values():
                _check_decimals(inner)
        case list():
            for inner in value:
                _check_decimals(inner)
        case Decimal():
            _, digits, exponent = value.as_tuple()
            if not isinstance(exponent, int):
                raise ValueError(f"{value} is no decimal number")
            if len(digits) > MOST_DIGITS or abs(exponent) > MOST_DIGITS:
                raise ValueError(f"{str(value)[:MOST_DIGITS]} has more digits than decimal(38,18)")


def _opened(destination: str) -> tuple[fs.FileSystem, str]:
    local = local_path(destination)
    if local is not None:
        local.mkdir(parents=True)
        return fs.LocalFileSystem(), str(local)
    system, path = fs.FileSystem.from_uri(destination)
    return system, path


def _field(column: Column) -> pa.Field:
    return pa.field(column.name, _type(column), nullable=column.nullable)


def _type(column: Column) -> pa.DataType:
    if column.type == "struct":
        return pa.struct([_field(each) for each in column.parts])
    if column.type == "array":
        return pa.list_(_field(column.parts[0]))
    return _PLAIN[column.type]
