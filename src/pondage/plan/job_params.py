"""Parameters against the JSON Schema that a component declares; expressions and types in them are parsed too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pondage.define.component import ComponentDefinition
from pondage.define.job import Call
from pondage.define.schema import violations
from pondage.define.types import TypeSyntax, parse_type
from pondage.expr import ExprSyntax, compile_text
from pondage.plan.job_graph import Findings


def check_params(definition: ComponentDefinition, call: Call, findings: Findings) -> None:
    """Note every parameter that does not fit."""
    for code, message in _wrong(definition, call):
        findings.wrong(code, f"{call.name}: {message}", call.place)


def fits(definition: ComponentDefinition, call: Call) -> bool:
    """Do all parameters fit? Only then may a component's `schema` function be asked about them."""
    return not any(True for _ in _wrong(definition, call))


def _wrong(definition: ComponentDefinition, call: Call) -> Iterator[tuple[str, str]]:
    for path, message in violations(definition.params, call.params, "params"):
        yield "PARAMS_SCHEMA", f"{path}: {message}"
    for path, form, text in _texts(definition.params, call.params, "params"):
        try:
            if form == "expression":
                compile_text(text)
            elif form == "type":
                parse_type(text)
        except ExprSyntax as error:
            yield "EXPR_SYNTAX", f"{path}: {error}"
        except TypeSyntax as error:
            yield "PARAMS_SCHEMA", f"{path}: {text!r} is no type: {error}"


def _texts(schema: Mapping[str, Any], value: object, path: str) -> Iterator[tuple[str, str, str]]:
    """Give each text whose schema has a `format`, with its path and that format."""
    if isinstance(value, str) and "format" in schema:
        yield path, schema["format"], value
    if isinstance(value, dict):
        others = schema.get("additionalProperties")
        for name, one in value.items():
            inner = schema.get("properties", {}).get(name, others)
            if isinstance(inner, dict):
                yield from _texts(inner, one, f"{path}.{name}")
    if isinstance(value, list | tuple) and isinstance(schema.get("items"), dict):
        for number, one in enumerate(value):
            yield from _texts(schema["items"], one, f"{path}[{number}]")
