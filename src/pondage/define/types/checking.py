"""Values of JSON against the type that they should have: everything that does not fit, with its place."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal

from pondage.define.types.types import Type
from pondage.define.types.unify import Structures, structure_of
from pondage.define.values.pointer import Trail
from pondage.define.values.schema import shown

_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DECIMAL = re.compile(r"-?\d{1,38}(?:\.\d{1,38})?\Z", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,3})?\Z", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d\Z", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(Z|[+-]\d\d:\d\d)?\Z", re.ASCII)

Wrong = tuple[Trail, Type, str]
"""A place, what is wanted there, and what is there instead."""


def wrong_value(value: object, type_: Type, structures: Structures, path: Trail) -> Iterator[Wrong]:
    """Give everything in a value that does not fit a type of columns. Everything fits what is not known."""
    inside = structure_of(type_, structures)
    if type_.head == "row" or inside is not None:
        row = type_ if inside is None else inside
        yield from _wrong_row(value, row, structures, path, is_result=type_.head == "Result")
    elif type_.head == "array" and isinstance(value, list):
        for number, one in enumerate(value):
            if one is not None:
                yield from wrong_value(one, type_.arguments[0], structures, path.below(number))
    elif type_.head == "map" and isinstance(value, dict) and type_.arguments[0].head == "string":
        for key, one in value.items():
            if one is not None:
                yield from wrong_value(one, type_.arguments[1], structures, path.below(key))
    elif type_.head not in _FITS or not _FITS[type_.head](value, type_):
        yield path, type_, shown(value)


def can_be_written(value: object, type_: Type) -> bool:
    """Answer whether a value that somebody wrote can stand in a column: numbers and times also as texts.

    What is put together of others, and what is not known, is left to Spark.
    """
    text = str(value)
    is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    match type_.head:
        case "float" | "double":
            return is_plain and _is_made(lambda: float(text))
        case "decimal":
            return is_plain and _NUMBER.match(text) is not None
        case "date":
            return isinstance(value, str) and _is_made(lambda: date.fromisoformat(text))
        case "timestamp" | "timestamp_ntz":
            return isinstance(value, str) and _is_made(lambda: datetime.fromisoformat(text))
        case "boolean":
            return isinstance(value, bool)
        case head if head in _BITS:
            return _is_whole(value, type_)
        case _:
            return True


def _wrong_row(value: object, row: Type, structures: Structures, path: Trail, *, is_result: bool) -> Iterator[Wrong]:
    if not isinstance(value, dict):
        yield path, row, shown(value)
        return
    known = {field.name: field for field in row.fields}
    for name in () if row.rest else value.keys() - known.keys():
        yield path.below(name), row, f"the unknown column {shown(name)}"
    for name, field in known.items():
        one = value.get(name)
        if one is not None:
            yield from wrong_value(one, field.type, structures, path.below(name))
        elif not field.is_nullable:
            yield path.below(name), field.type, "null"
    if is_result and (value.get("ok") is None) == (value.get("err") is None):
        yield path, row, "not exactly one of ok and err"


def _is_whole(value: object, type_: Type) -> bool:
    half = 1 << (_BITS[type_.head] - 1)
    return isinstance(value, int) and not isinstance(value, bool) and -half <= value < half


def _is_number(value: object, _type: Type) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e308 and math.isfinite(value)
    )


def _is_decimal(value: object, type_: Type) -> bool:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**38 else value
    if not isinstance(text, str) or not _DECIMAL.match(text):
        return False
    precision, scale = type_.numbers
    _, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    return -exponent <= scale and len(digits) + exponent <= precision - scale


def _is_date(value: object, _type: Type) -> bool:
    return isinstance(value, str) and bool(_DATE.match(value)) and _is_made(lambda: date.fromisoformat(value))


def _is_moment(value: object, type_: Type) -> bool:
    match = _MOMENT.match(value) if isinstance(value, str) else None
    if match is None or bool(match[1]) != (type_.head == "timestamp"):
        return False
    return _is_made(lambda: datetime.fromisoformat(match[0]))


def _is_made(make: Callable[[], object]) -> bool:
    try:
        make()
    except ValueError:
        return False
    return True


def is_base64(value: object) -> bool:
    """Is it a text that stands for octets?"""
    try:
        base64.b64decode(str(value), validate=True)
    except (binascii.Error, ValueError):
        return False
    return isinstance(value, str)


_FITS: dict[str, Callable[[object, Type], bool]] = {
    "string": lambda value, _: isinstance(value, str),
    "boolean": lambda value, _: isinstance(value, bool),
    **dict.fromkeys(_BITS, _is_whole),
    "float": _is_number,
    "double": _is_number,
    "decimal": _is_decimal,
    "date": _is_date,
    "timestamp": _is_moment,
    "timestamp_ntz": _is_moment,
    "binary": lambda value, _: is_base64(value),
    **dict.fromkeys(("Any", "var"), lambda _value, _: True),
}
