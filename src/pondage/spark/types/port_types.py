"""Port types as Spark's types, without Spark's parser."""

from __future__ import annotations

from pyspark.sql import types as T  # noqa: N812 - the name that everybody uses

from pondage.define.types.types import Type, TypeSyntax, parse_type
from pondage.errors import PondageError

_PLAIN: dict[str, T.DataType] = {
    "string": T.StringType(), "boolean": T.BooleanType(), "tinyint": T.ByteType(), "smallint": T.ShortType(),
    "int": T.IntegerType(), "bigint": T.LongType(), "float": T.FloatType(), "double": T.DoubleType(),
    "date": T.DateType(), "timestamp": T.TimestampType(), "timestamp_ntz": T.TimestampNTZType(),
    "binary": T.BinaryType(),
}  # fmt: skip


def spark_type(text: str) -> T.DataType:
    """Answer the type that a text of the port grammar means; raises PondageError for what no column can have."""
    try:
        return _of(parse_type(text))
    except TypeSyntax as error:
        raise PondageError(f"{text!r} is no type: {error}", code="BAD_TYPE") from None


def spark_schema(columns: dict[str, str]) -> T.StructType:
    """Answer the schema of a parameter `columns: {name: type}`."""
    return T.StructType([T.StructField(name, spark_type(kind)) for name, kind in columns.items()])


def _of(found: Type) -> T.DataType:
    if found.head in _PLAIN:
        return _PLAIN[found.head]
    if found.head == "decimal":
        return T.DecimalType(*found.numbers)
    if found.head == "array":
        return T.ArrayType(_of(found.arguments[0]))
    if found.head == "map":
        return T.MapType(_of(found.arguments[0]), _of(found.arguments[1]))
    if found.head == "row" and not found.rest:
        return T.StructType([T.StructField(one.name, _of(one.type), one.is_nullable) for one in found.fields])
    raise PondageError(f"{found} is no type of a column", code="BAD_TYPE")
