"""Spark's JSON form of a schema as columns that people read. No Spark is needed to read it."""

from __future__ import annotations

import msgspec


class ColumnView(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a table: `amount`, `decimal(10,2)`."""

    name: str
    type: str
    nullable: bool


class _Field(msgspec.Struct):
    name: str
    type: object
    nullable: bool = True


class _Schema(msgspec.Struct):
    fields: list[_Field]


def columns(schema: str) -> tuple[ColumnView, ...]:
    """Answer the columns of a schema; a schema that cannot be read has none."""
    try:
        decoded = msgspec.json.decode(schema, type=_Schema)
    except msgspec.MsgspecError:
        return ()
    return tuple(
        ColumnView(name=field.name, type=type_text(field.type), nullable=field.nullable) for field in decoded.fields
    )


def type_text(given: object) -> str:
    """Answer a type as SQL writes it: `array<struct<day:date>>`."""
    if isinstance(given, str):
        return {"long": "bigint", "integer": "int"}.get(given, given)
    match given:
        case {"type": "array", "elementType": element}:
            return f"array<{type_text(element)}>"
        case {"type": "map", "keyType": key, "valueType": value}:
            return f"map<{type_text(key)},{type_text(value)}>"
        case {"type": "struct", "fields": list() as fields}:
            return f"struct<{','.join(_member(field) for field in fields)}>"
        case {"type": str() as name}:
            return name
        case _:
            return "?"


def _member(field: object) -> str:
    match field:
        case {"name": str() as name, "type": kind}:
            return f"{name}:{type_text(kind)}"
        case _:
            return "?"
