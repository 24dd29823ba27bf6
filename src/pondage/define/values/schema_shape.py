"""Is a JSON Schema one? Whoever declares or sends it is told what is wrong before a value is held against it."""

from __future__ import annotations

from collections.abc import Iterator

from pondage.define.values.pattern import wrong_pattern
from pondage.define.values.schema import TYPE_NAMES, dotted, shown

DEEPEST = 40
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties")
_BOUNDS = ("minimum", "maximum")
_LISTS = ("anyOf", "oneOf", "prefixItems")
_INNER = ("items", "propertyNames", "additionalProperties")
_PASSED_OVER = frozenset(
    {
        "$ref", "$dynamicRef", "additionalItems", "allOf", "contains", "dependencies", "dependentRequired",
        "dependentSchemas", "else", "exclusiveMaximum", "exclusiveMinimum", "if", "maxContains", "maxProperties",
        "minContains", "multipleOf", "not", "patternProperties", "then", "unevaluatedItems", "unevaluatedProperties",
        "uniqueItems",
    }
)  # fmt: skip
"""Words of JSON Schema that forbid something, and that `violations` does not know."""


def wrong_schema(schema: object, path: str = "$", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Give where and why `violations` could not read a schema; keywords that it passes over may be in it."""
    if not isinstance(schema, dict):
        yield path, f"{shown(schema)} is no schema"
        return
    if depth > DEEPEST:
        yield path, "it is nested too deeply"
        return
    for key, value in schema.items():
        if why := _wrong(key, value):
            yield dotted(path, key), why
    for inner, one in _inner(schema, path):
        yield from wrong_schema(one, inner, depth + 1)


def passed_over(schema: dict[str, object], path: str = "$") -> Iterator[tuple[str, str]]:
    """Give where a sound schema forbids something in a word that nobody looks at: such a fence only seems to hold."""
    for key in schema:
        if key in _PASSED_OVER:
            yield dotted(path, key), f"{key!r} is not looked at"
    for inner, one in _inner(schema, path):
        if isinstance(one, dict):
            yield from passed_over(one, inner)


def _wrong(key: str, value: object) -> str:
    match key:
        case "type":
            names = value if isinstance(value, list | tuple) else [value]
            is_known = all(isinstance(name, str) and name in TYPE_NAMES for name in names)
            return "" if names and is_known else f"{shown(value)} is no type"
        case "enum":
            return "" if isinstance(value, list | tuple) else "a list of values is expected"
        case "required":
            is_names = isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)
            return "" if is_names else "a list of names is expected"
        case "format":
            return "" if isinstance(value, str) else "a text is expected"
        case "pattern":
            return _wrong_pattern(value)
        case "properties":
            return "" if isinstance(value, dict) else "an object is expected"
        case _ if key in _LISTS:
            return "" if isinstance(value, list | tuple) and value else "a list of schemas is expected"
        case _ if key in _COUNTS:
            return "" if type(value) is int and value >= 0 else "a whole number is expected"
        case _ if key in _BOUNDS:
            return "" if type(value) in (int, float) else "a number is expected"
        case _:
            return ""


def _wrong_pattern(value: object) -> str:
    if not isinstance(value, str):
        return "a regular expression is expected"
    why = wrong_pattern(value)
    return f"{shown(value)} is a pattern {why}" if why else ""


def _inner(schema: dict[str, object], path: str) -> Iterator[tuple[str, object]]:
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, one in properties.items():
            yield dotted(dotted(path, "properties"), name), one
    for key in _LISTS:
        alternatives = schema.get(key)
        if isinstance(alternatives, list | tuple):
            for number, one in enumerate(alternatives):
                yield dotted(dotted(path, key), number), one
    for key in _INNER:
        if not isinstance(schema.get(key, True), bool):
            yield dotted(path, key), schema[key]
