"""Schemas as Spark writes them (JSON) in the words of Iceberg. Nothing is promised never to be null."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

from pondage.connect.tables import needed
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.types import IcebergType, NestedField

_PRIMITIVES = {
    "boolean": "BooleanType",
    "byte": "IntegerType",
    "short": "IntegerType",
    "integer": "IntegerType",
    "long": "LongType",
    "float": "FloatType",
    "double": "DoubleType",
    "string": "StringType",
    "binary": "BinaryType",
    "date": "DateType",
    "timestamp": "TimestamptzType",
    "timestamp_ntz": "TimestampType",
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")


def iceberg_schema(schema: str) -> Schema:
    """Answer the schema; raises `PondageError` (NO_SUCH_TYPE) for a type that Iceberg does not have."""
    needed("pyiceberg", "iceberg")
    from pyiceberg.schema import Schema

    return Schema(*_fields(json.loads(schema), count(1)))


def _fields(struct: dict[str, Any], ids: Iterator[int]) -> list[NestedField]:
    from pyiceberg.types import NestedField

    return [
        NestedField(field_id=next(ids), name=field["name"], field_type=_type(field["type"], ids), required=False)
        for field in struct["fields"]
    ]


def _type(given: str | dict[str, Any], ids: Iterator[int]) -> IcebergType:
    from pyiceberg import types

    if isinstance(given, str):
        decimal = _DECIMAL.fullmatch(given)
        if decimal is not None:
            return types.DecimalType(int(decimal[1]), int(decimal[2]))
        name = "string" if given.startswith(("varchar(", "char(")) else given
        if name in _PRIMITIVES:
            made: IcebergType = getattr(types, _PRIMITIVES[name])()
            return made
    elif given["type"] == "struct":
        return types.StructType(*_fields(given, ids))
    elif given["type"] == "array":
        return types.ListType(next(ids), _type(given["elementType"], ids), element_required=False)
    elif given["type"] == "map":
        key, value = next(ids), next(ids)
        return types.MapType(
            key, _type(given["keyType"], ids), value, _type(given["valueType"], ids), value_required=False
        )
    raise PondageError(
        f"Iceberg has no type {given if isinstance(given, str) else given['type']}",
        hint="cast the column to another type, or do not publish this Ripple as Iceberg",
        code="NO_SUCH_TYPE",
    )
