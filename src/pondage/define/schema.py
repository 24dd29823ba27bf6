"""Values against a JSON Schema: the part of that language that declarations and our own files need."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list, tuple),
    "null": (type(None),),
}


def violations(schema: Mapping[str, Any], value: object, path: str) -> Iterator[tuple[str, str]]:
    """Give where and how a value does not fit a schema, all places at once."""
    wanted = schema.get("type")
    if wanted is not None:
        names = [wanted] if isinstance(wanted, str) else list(wanted)
        if not any(_is_of(value, name) for name in names):
            yield path, f"{value!r} is not of type {wanted!r}"
            return
    if "enum" in schema and value not in schema["enum"]:
        yield path, f"{value!r} is not one of {schema['enum']!r}"
    if "anyOf" in schema and all(any(violations(one, value, path)) for one in schema["anyOf"]):
        yield path, f"{value!r} fits none of the alternatives"
    yield from _bounds(schema, value, path)
    if isinstance(value, dict):
        yield from _object(schema, value, path)
    if isinstance(value, list | tuple) and isinstance(schema.get("items"), dict):
        for number, one in enumerate(value):
            yield from violations(schema["items"], one, f"{path}[{number}]")


def _is_of(value: object, name: str) -> bool:
    if isinstance(value, bool) and name in ("integer", "number"):
        return False
    return isinstance(value, _TYPES.get(name, (object,)))


def _bounds(schema: Mapping[str, Any], value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if "minimum" in schema and value < schema["minimum"]:
            yield path, f"{value!r} is less than the minimum of {schema['minimum']!r}"
        if "maximum" in schema and value > schema["maximum"]:
            yield path, f"{value!r} is greater than the maximum of {schema['maximum']!r}"
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield path, f"{value!r} does not match {schema['pattern']!r}"
        if len(value) < schema.get("minLength", 0):
            yield path, f"{value!r} is too short"
    if isinstance(value, list | tuple) and len(value) < schema.get("minItems", 0):
        yield path, f"{value!r} has too few elements"


def _object(schema: Mapping[str, Any], value: dict[str, object], path: str) -> Iterator[tuple[str, str]]:
    for name in schema.get("required", ()):
        if name not in value:
            yield path, f"{name!r} is a required property"
    properties = schema.get("properties", {})
    for name, one in value.items():
        if name in properties:
            yield from violations(properties[name], one, f"{path}.{name}")
        elif schema.get("additionalProperties") is False:
            yield path, f"{name!r} is not expected"
        elif isinstance(schema.get("additionalProperties"), dict):
            yield from violations(schema["additionalProperties"], one, f"{path}.{name}")
