"""The columns of a published table, from the type of its rows: a dataclass or a msgspec struct."""

from __future__ import annotations

import msgspec
from msgspec import inspect

from pondage.errors import DefinitionError

_PLAIN: dict[type[inspect.Type], str] = {
    inspect.BoolType: "boolean",
    inspect.IntType: "long",
    inspect.FloatType: "double",
    inspect.StrType: "string",
    inspect.BytesType: "binary",
    inspect.DateTimeType: "timestamp",
    inspect.DateType: "date",
    inspect.DecimalType: "decimal(38,18)",
}


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column: its type in Spark's words, or the columns of a struct, or of what a list holds."""

    name: str
    type: str
    nullable: bool = False
    parts: tuple[Column, ...] = ()


def columns_of(row: object, *, place: str) -> tuple[Column, ...]:
    """Give the columns of a type of rows; raises DefinitionError (BAD_SCHEMA) when it is no table."""
    found = inspect.type_info(row)
    if not isinstance(found, inspect.StructType | inspect.DataclassType):
        raise DefinitionError(
            f"the schema of a published Pond must be a dataclass or a msgspec.Struct, not {row!r}",
            hint="Publish(..., schema=Quote)",
            place=place,
            code="BAD_SCHEMA",
        )
    return tuple(_column(field.name, field.type, place) for field in found.fields)


def spark_schema(columns: tuple[Column, ...]) -> str:
    """Give the schema as Spark writes it."""
    return msgspec.json.encode(_struct(columns)).decode()


def _column(name: str, given: inspect.Type, place: str) -> Column:
    nullable = False
    if isinstance(given, inspect.UnionType):
        others = [each for each in given.types if not isinstance(each, inspect.NoneType)]
        nullable = len(others) < len(given.types)
        if len(others) == 1:
            given = others[0]
    plain = _PLAIN.get(type(given))
    if plain is not None:
        return Column(name=name, type=plain, nullable=nullable)
    if isinstance(given, inspect.StructType | inspect.DataclassType):
        parts = tuple(_column(field.name, field.type, place) for field in given.fields)
        return Column(name=name, type="struct", nullable=nullable, parts=parts)
    if isinstance(given, inspect.ListType):
        return Column(name=name, type="array", nullable=nullable, parts=(_column("element", given.item_type, place),))
    raise DefinitionError(
        f"column {name} is of a type that no table has: {given}",
        hint="bool, int, float, str, bytes, date, datetime, Decimal, a struct, a list of these, or one of them | None",
        place=place,
        code="BAD_SCHEMA",
    )


def _struct(columns: tuple[Column, ...]) -> dict[str, object]:
    fields = [{"name": each.name, "type": _type(each), "nullable": each.nullable, "metadata": {}} for each in columns]
    return {"type": "struct", "fields": fields}


def _type(column: Column) -> object:
    if column.type == "struct":
        return _struct(column.parts)
    if column.type == "array":
        item = column.parts[0]
        return {"type": "array", "elementType": _type(item), "containsNull": item.nullable}
    return column.type
