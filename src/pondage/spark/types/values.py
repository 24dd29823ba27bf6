"""Values of the type grammar as Spark has them: rows written as JSON, Values and Bytes as tables of one row."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from pondage.define.types.port import Port
from pondage.define.types.segment import ORDER
from pondage.define.types.type_json import spark_json
from pondage.define.types.types import PANIC, is_ordered, parse_type
from pondage.errors import PondageError
from pondage.work.component import Panic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import types as T  # noqa: N812 - the name that everybody uses

JSON_COLUMN = "json"
BYTES_COLUMN = "bytes"
PLAIN = ("Value", "Bytes")
"""What travels as a Python value, not as a table."""


def is_plain(type_: str) -> bool:
    """Is it something that a component takes and gives as a Python value?"""
    return type_.partition("<")[0] in PLAIN


def plain_frame(session: SparkSession, type_: str, value: object) -> DataFrame:
    """Answer a Value or Bytes as the table that stands for it between two executions."""
    if type_.startswith("Bytes"):
        assert isinstance(value, bytes)
        return session.createDataFrame([(value,)], f"{BYTES_COLUMN} binary").coalesce(1)
    return session.createDataFrame([(msgspec.json.encode(value).decode(),)], f"{JSON_COLUMN} string").coalesce(1)


def plain_value(port: str, type_: str, frame: DataFrame) -> object:
    """Answer the Value or Bytes that a table stands for; raises when it stands for none."""
    column = BYTES_COLUMN if type_.startswith("Bytes") else JSON_COLUMN
    if frame.columns != [column]:
        raise PondageError(f"{port} takes {type_}, such as the element of an iterator, not a table", code="BAD_INPUT")
    (row,) = frame.collect()
    return bytes(row[0]) if column == BYTES_COLUMN else msgspec.json.decode(row[0])


def panic_frame(session: SparkSession, panic: Panic) -> DataFrame:
    """Answer the one row of a `panic` port."""
    row = msgspec.to_builtins(panic) | {"at": datetime.fromtimestamp(panic.at / 1e6, UTC).isoformat()}
    return typed_frame(session, spark_json(parse_type(PANIC)), [row])


def typed_frame(session: SparkSession, schema: Any, rows: list[Any]) -> DataFrame:
    """Answer rows that came as JSON as a table; `schema` is Spark's JSON of a struct."""
    from pyspark.sql import types as T  # noqa: N812 - the name that everybody uses

    struct = T.StructType.fromJson(schema)
    return session.createDataFrame([_read(row, struct) for row in rows], struct).coalesce(1)


def arrow_frame(session: SparkSession, schema: Any, data: bytes) -> DataFrame:
    """Answer an Arrow IPC stream, which was seen to fit, as a table of exactly this schema."""
    import pyarrow as pa
    from pyspark.sql import types as T  # noqa: N812 - the name that everybody uses
    from pyspark.sql.pandas.types import to_arrow_schema

    struct = T.StructType.fromJson(schema)
    with pa.ipc.open_stream(data) as reader:
        table = reader.read_all().cast(to_arrow_schema(struct, timezone="UTC"))
    return session.createDataFrame(table, struct).coalesce(1)


def _read(value: Any, kind: T.DataType) -> object:
    from pyspark.sql import types as T  # noqa: N812 - the name that everybody uses

    if value is None:
        return None
    match kind:
        case T.StructType():
            return tuple(_read(value.get(field.name), field.dataType) for field in kind.fields)
        case T.ArrayType():
            return [_read(one, kind.elementType) for one in value]
        case T.MapType():
            return {key: _read(one, kind.valueType) for key, one in value.items()}
        case T.DoubleType() | T.FloatType():
            return float(value)
        case T.DecimalType():
            return Decimal(str(value))
        case T.DateType():
            return date.fromisoformat(value)
        case T.TimestampType() | T.TimestampNTZType():
            return datetime.fromisoformat(value)
        case T.BinaryType():
            return bytearray(base64.b64decode(value))
    return value


def accepted(frame: DataFrame, port: Port, variables: Mapping[str, str]) -> DataFrame:
    """Answer a table as a port that accepts more than its own columns wants it: in order, widened, others dropped."""
    if port.accept == "exact":
        return frame
    row = parse_type(port.type, variables).arguments[0]
    if row.head != "row":
        return frame
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
    from pyspark.sql import types as T  # noqa: N812 - the name that everybody uses

    columns = []
    for field in row.fields:
        quoted = "`" + field.name.replace("`", "``") + "`"
        kind = T.StructType.fromJson({"type": "struct", "fields": [
            {"name": "c", "type": spark_json(field.type), "nullable": True, "metadata": {}}
        ]}).fields[0].dataType  # fmt: skip
        found = F.col(quoted) if field.name in frame.columns else F.lit(None)
        columns.append(found.cast(kind).alias(field.name))
    known = {field.name for field in row.fields}
    kept = set(frame.columns) if row.rest else {ORDER} if is_ordered(port.type) else set()
    rest = [name for name in frame.columns if name in kept - known]
    return frame.select(*columns, *(F.col("`" + name.replace("`", "``") + "`") for name in rest))
