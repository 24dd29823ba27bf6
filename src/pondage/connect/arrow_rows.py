"""Rows between Arrow and texts: Spark's schema as Arrow's, rows as Python has them, as JSON and as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any

import msgspec
import pyarrow as pa

_PLAIN = {
    "string": pa.string(), "boolean": pa.bool_(), "byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(),
    "long": pa.int64(), "float": pa.float32(), "double": pa.float64(), "date": pa.date32(), "binary": pa.binary(),
    "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"), "void": pa.null(),
}  # fmt: skip


def arrow_schema(schema: str) -> pa.Schema:
    """Answer what Spark's JSON of a schema means in Arrow."""
    return pa.schema(list(_struct(msgspec.json.decode(schema))))


def _struct(given: Any) -> Iterator[pa.Field]:
    for one in given["fields"]:
        yield pa.field(one["name"], _type(one["type"]), nullable=True)


def _type(given: Any) -> pa.DataType:
    if isinstance(given, str):
        if given.startswith("decimal"):
            precision, scale = given.removeprefix("decimal(").rstrip(")").split(",")
            return pa.decimal128(int(precision), int(scale))
        return _PLAIN.get(given, pa.string())
    if given["type"] == "struct":
        return pa.struct(list(_struct(given)))
    if given["type"] == "array":
        return pa.list_(_type(given["elementType"]))
    if given["type"] == "map":
        return pa.map_(_type(given["keyType"]), _type(given["valueType"]))
    return pa.string()


def rows_of(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Give each row by its columns; a map is a dict, a moment is in UTC."""
    columns = [(field.name, field.type, batch.column(at).to_pylist()) for at, field in enumerate(batch.schema)]
    for number in range(batch.num_rows):
        yield {name: _value(values[number], kind) for name, kind, values in columns}


def plain_rows(batch: pa.RecordBatch) -> Iterator[list[Any]]:
    """Give each row by position, as JSON can carry it: a number that JSON does not know is a text."""
    named = batch.rename_columns([str(number) for number in range(batch.num_columns)])
    for row in rows_of(named):
        yield [str(each) if isinstance(each, float) and not isfinite(each) else each for each in row.values()]


def _value(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {key: _value(one, kind.item_type) for key, one in value}
    if pa.types.is_struct(kind):
        return {field.name: _value(value[field.name], field.type) for field in kind}
    if pa.types.is_list(kind):
        return [_value(one, kind.value_type) for one in value]
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo is not None else value


def json_line(row: object) -> bytes:
    """Answer a row as one line: moments end in Z, decimals are texts, octets base64."""
    return msgspec.json.encode(row) + b"\n"


def csv_line(values: Iterable[object]) -> bytes:
    """Answer one line of CSV; null is nothing, and the empty text is `""`."""
    return ",".join(map(_cell, values)).encode() + b"\n"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        return str(value)
    text = msgspec.json.decode(msgspec.json.encode(value)) if isinstance(value, date) else str(value)
    is_plain = text and not set(text) & set(',"\r\n') and text == text.strip()
    return text if is_plain else '"' + text.replace('"', '""') + '"'
