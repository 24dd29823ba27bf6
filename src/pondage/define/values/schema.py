"""Values against a JSON Schema: the part of that language that declarations and our own files need."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pondage.define.values.pattern import mismatch
from pondage.define.values.suggestion import meant

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list, tuple),
    "null": (type(None),),
}
TYPE_NAMES = frozenset(_TYPES)
MAX_SHOWN = 200
MOST = 2**63
"""Nothing that anybody counts is larger: the ledger and Spark keep 64 bits."""

Step = Callable[[str, str | int], str]
"""How the path of a part is made of the path of the whole and a key or a number."""


def dotted(path: str, key: str | int) -> str:
    """Write paths as `$.components[1].type`."""
    return f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}"


def pointed(path: str, key: str | int) -> str:
    """Write paths as JSON pointers: `/nodes/src/params`."""
    return f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}"


def violations(schema: Mapping[str, Any], value: object, path: str, step: Step = dotted) -> Iterator[tuple[str, str]]:
    """Give where and how a value does not fit a schema, all places at once."""
    wanted = schema.get("type")
    if wanted is not None:
        names = [wanted] if isinstance(wanted, str) else list(wanted)
        if not any(_is_of(value, name) for name in names):
            yield path, f"{shown(value)} is not of type {wanted!r}"
            return
    if "enum" in schema and not any(_is_equal(value, one) for one in schema["enum"]):
        yield path, f"{shown(value)} is not one of {schema['enum']!r}"
    if "const" in schema and not _is_equal(value, schema["const"]):
        yield path, f"{shown(value)} is not {schema['const']!r}"
    if "anyOf" in schema and all(any(violations(one, value, path)) for one in schema["anyOf"]):
        yield path, f"{shown(value)} fits none of the alternatives"
    if "oneOf" in schema:
        yield from _one_of(schema["oneOf"], value, path)
    yield from _bounds(schema, value, path)
    if isinstance(value, dict):
        yield from _object(schema, value, path, step)
    if isinstance(value, list | tuple):
        yield from _elements(schema, value, path, step)


def shown(value: object) -> str:
    """Write a value as it is told to a person: never longer than they would read."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _is_of(value: object, name: str) -> bool:
    if isinstance(value, bool) and name in ("integer", "number"):
        return False
    return isinstance(value, _TYPES.get(name, (object,)))


def _is_equal(value: object, other: object) -> bool:
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def _one_of(alternatives: list[Mapping[str, Any]], value: object, path: str) -> Iterator[tuple[str, str]]:
    fitting = sum(not any(violations(one, value, path)) for one in alternatives)
    if fitting != 1:
        ways = " or ".join(" and ".join(one.get("required", ["something else"])) for one in alternatives)
        yield path, f"exactly one is expected: {ways}"


def _bounds(schema: Mapping[str, Any], value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        is_beyond = not math.isfinite(value) if isinstance(value, float) else abs(value) >= MOST
        if is_beyond and "type" in schema:
            yield path, f"{shown(value)} is no number that 64 bits can hold"
            return
        if "minimum" in schema and value < schema["minimum"]:
            yield path, f"{shown(value)} is less than the minimum of {schema['minimum']!r}"
        if "maximum" in schema and value > schema["maximum"]:
            yield path, f"{shown(value)} is greater than the maximum of {schema['maximum']!r}"
    if isinstance(value, str):
        if "pattern" in schema and (why := mismatch(schema["pattern"], value)):
            yield path, f"{shown(value)} {why}"
        if len(value) < schema.get("minLength", 0):
            yield path, f"{value!r} is too short"
        if len(value) > schema.get("maxLength", len(value)):
            yield path, f"{shown(value)} is too long"
    if isinstance(value, list | tuple):
        if len(value) < schema.get("minItems", 0):
            yield path, f"{shown(value)} has too few elements"
        if len(value) > schema.get("maxItems", len(value)):
            yield path, f"{shown(value)} has too many elements"


def _elements(
    schema: Mapping[str, Any], value: list[object] | tuple[object, ...], path: str, step: Step
) -> Iterator[tuple[str, str]]:
    first = schema.get("prefixItems", [])
    others = schema.get("items")
    for number, one in enumerate(value):
        inner = first[number] if number < len(first) else others
        if isinstance(inner, dict):
            yield from violations(inner, one, step(path, number), step)


def _object(schema: Mapping[str, Any], value: dict[str, object], path: str, step: Step) -> Iterator[tuple[str, str]]:
    if len(value) < schema.get("minProperties", 0):
        yield path, "it is empty"
    for name in schema.get("required", ()):
        if name not in value:
            yield path, f"{name!r} is a required property"
    properties = schema.get("properties", {})
    names = schema.get("propertyNames")
    others = schema.get("additionalProperties")
    for name, one in value.items():
        if isinstance(names, dict) and any(violations(names, name, path)):
            yield step(path, name), f"{shown(name)} is no name that may stand here"
        elif name in properties:
            yield from violations(properties[name], one, step(path, name), step)
        elif others is False:
            yield path, f"{shown(name)} is not expected{_instead(name, properties)}"
        elif isinstance(others, dict):
            yield from violations(others, one, step(path, name), step)


def _instead(name: str, properties: Mapping[str, Any]) -> str:
    """Answer what may stand there: the nearest name, else all of them when they are few."""
    known = f"; there is {', '.join(sorted(properties))}" if 0 < len(properties) <= 12 else ""
    return meant(name, properties) or known
