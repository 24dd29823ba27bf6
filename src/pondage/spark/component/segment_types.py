"""What a segment holds against the type of its port, before it becomes a part of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pondage.define.types.checking import wrong_value
from pondage.define.types.port import INFER
from pondage.define.types.segment import ORDER
from pondage.define.types.type_json import from_spark_json, spark_json
from pondage.define.types.types import ANY, Field, Type, TypeSyntax, parse_type
from pondage.define.types.unify import Mismatch, explained, unify
from pondage.define.values.pointer import trail
from pondage.spark.files.segments import DecodeError, ipc_bytes, unpacked, value_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SHOWN = 5
"""How many wrong places of a value are told."""
_PLAIN: dict[pa.DataType, str] = {
    pa.string(): "string", pa.large_string(): "string", pa.string_view(): "string", pa.bool_(): "boolean",
    pa.int8(): "tinyint", pa.int16(): "smallint", pa.int32(): "int", pa.int64(): "bigint", pa.float32(): "float",
    pa.float64(): "double", pa.date32(): "date", pa.binary(): "binary", pa.large_binary(): "binary",
    pa.binary_view(): "binary", pa.null(): "void",
}  # fmt: skip


def port_type(text: str, variables: Mapping[str, str]) -> Type:
    """Answer the type of a port as its segments are held to it; what nobody knows is Any."""
    try:
        return ANY if text == INFER else explained(parse_type(text, variables), {})
    except TypeSyntax:
        return ANY


def checked_rows(data: bytes, want: Type) -> int:
    """Answer how many rows the bytes of a segment hold; raises `DecodeError` with both types when they are others."""
    if want.head == "Bytes":
        return 1
    if want.head == "Value":
        _check_value(value_in(data), want)
        return 1
    table = unpacked(data)
    if want.head != "Any":
        check_table(table, want)
    return int(table.num_rows)


def accepted_rows(data: bytes, want: Type) -> bytes:
    """Answer the rows of a segment as an input that accepts others wants them: in order, widened, without the rest."""
    row = want.arguments[0]
    if row.head != "row":
        return data
    table = unpacked(data, in_order=want.is_ordered)
    wanted = to_arrow_schema(StructType.fromJson(spark_json(row)), timezone="UTC")  # type: ignore[arg-type]
    others = [one for one in table.schema if one.name not in wanted.names and (row.rest or one.name == ORDER)]
    columns = [
        table.column(one.name).cast(one.type) if one.name in table.column_names else pa.nulls(table.num_rows, one.type)
        for one in wanted
    ]
    schema = pa.schema([*wanted, *others], metadata=table.schema.metadata)
    return ipc_bytes(pa.table([*columns, *(table.column(one.name) for one in others)], schema))


def _check_value(value: object, want: Type) -> None:
    wrong = list(islice(wrong_value(value, want.arguments[0], {}, trail("")), SHOWN))
    if wrong:
        told = "; ".join(f"{at}: wanted {one}, got {found}".removeprefix(": ") for at, one, found in wrong)
        raise DecodeError(f"wanted {want}: {told}")


def check_table(table: pa.Table, want: Type) -> None:
    """Raise `DecodeError` with both types when rows are not of the type of their port."""
    row = Type("row", fields=tuple(_fields(table.schema, table.columns)))
    got = Type(want.head, arguments=(row,), is_ordered=want.is_ordered)
    try:
        unify(got, want, {})
    except Mismatch as error:
        raise DecodeError(f"wanted {want}, got {plainly(got)}: {error}") from None


def plainly(got: Type) -> Type:
    """Answer a type as it is shown: without what only its data says."""
    return msgspec.structs.replace(
        got,
        arguments=tuple(map(plainly, got.arguments)),
        fields=tuple(Field(one.name, plainly(one.type)) for one in got.fields),
    )


def _fields(schema: pa.Schema | pa.StructType, columns: list[pa.ChunkedArray]) -> list[Field]:
    """Answer columns; whether one may be null is seen by what is in it, because many libraries never say it."""
    return [
        Field(field.name, _type(field.type, column), column.null_count > 0)
        for field, column in zip(schema, columns, strict=True)
    ]


def _type(kind: pa.DataType, column: pa.ChunkedArray) -> Type:
    if kind in _PLAIN:
        return Type(_PLAIN[kind])
    if pa.types.is_timestamp(kind):
        return Type("timestamp_ntz" if kind.tz is None else "timestamp")
    if pa.types.is_decimal128(kind):
        return Type("decimal", numbers=(kind.precision, kind.scale))
    if pa.types.is_struct(kind):
        return Type("row", fields=tuple(_fields(kind, column.drop_null().flatten())))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return Type("array", arguments=(_type(kind.value_type, _inside(column, kind.value_type, "values")),))
    if pa.types.is_map(kind):
        parts = (
            _type(one, _inside(column, one, part)) for one, part in ((kind.key_type, "keys"), (kind.item_type, "items"))
        )
        return Type("map", arguments=tuple(parts))
    return Type(str(kind))


def _inside(column: pa.ChunkedArray, kind: pa.DataType, part: str) -> pa.ChunkedArray:
    chunks = column.drop_null().chunks
    return pa.chunked_array([one.flatten() if part == "values" else getattr(one, part) for one in chunks], kind)


def difference(frame: DataFrame, declared: str, variables: Mapping[str, str]) -> str | None:
    """Answer both types and where they differ; None when the columns are those of the port.

    Whether a column may be null is not judged: Spark says of most that they may.
    """
    want = port_type(declared, variables)
    if want.head not in ("Table", "Stream") or want.arguments[0].head != "row":
        return None
    try:
        row = from_spark_json(frame.schema.jsonValue())
    except TypeSyntax:
        return None  # a column of a type that ports have no word for
    got = Type(want.head, arguments=(_never_null(row),), is_ordered=want.is_ordered)
    try:
        unify(got, want, {})
    except Mismatch as error:
        return f"wanted {want}, got {plainly(got)}: {error}"
    return None


def _never_null(given: Type) -> Type:
    return msgspec.structs.replace(
        given,
        arguments=tuple(map(_never_null, given.arguments)),
        fields=tuple(Field(one.name, _never_null(one.type), is_nullable=False) for one in given.fields),
    )
