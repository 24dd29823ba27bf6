"""Parameters against the JSON Schema that a component declares; expressions and types in them are parsed too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pondage.define.job.component import ComponentDefinition
from pondage.define.job.job import Call
from pondage.define.types.type_json import spark_json
from pondage.define.types.types import PRIMITIVES, TypeSyntax, parse_type
from pondage.define.types.unify import Structures
from pondage.define.values.schema import Step, dotted, shown, violations
from pondage.define.values.suggestion import meant
from pondage.expr import ExprSyntax, compile_text
from pondage.plan.job.graph import Findings


def check_params(definition: ComponentDefinition, call: Call, findings: Findings, structures: Structures) -> None:
    """Note every parameter that does not fit."""
    for code, path, message in wrong_params(definition, call.params, "params"):
        findings.wrong(code, f"{call.name}: {path}: {message}", call.place)
    for path, form, text in formatted(definition.params, call.params, "params"):
        wrong = wrong_column(text, structures) if form == "type" else None
        if wrong is not None:
            findings.wrong("PARAMS_SCHEMA", f"{call.name}: {path}: {wrong}", call.place)


def fits(definition: ComponentDefinition, call: Call) -> bool:
    """Do all parameters fit? Only then may a component's `schema` function be asked about them."""
    return not any(True for _ in wrong_params(definition, call.params, "params"))


def wrong_params(
    definition: ComponentDefinition, params: Mapping[str, object], path: str, step: Step = dotted
) -> Iterator[tuple[str, str, str]]:
    """Give code, path and message of every parameter that does not fit."""
    for where, message in violations(definition.params, params, path, step):
        yield "PARAMS_SCHEMA", where, message
    for where, form, text in formatted(definition.params, params, path, step):
        try:
            if form == "expression":
                compile_text(text)
            elif form == "type":
                parse_type(text)
        except ExprSyntax as error:
            yield "EXPR_SYNTAX", where, str(error)
        except TypeSyntax as error:
            yield "PARAMS_SCHEMA", where, f"{shown(text)} is no type: {error}"


def wrong_column(text: str, structures: Structures) -> str | None:
    """Answer why no column can have a type; nothing for what is no type at all, which `wrong_params` says."""
    try:
        found = parse_type(text)
    except TypeSyntax:
        return None
    try:
        spark_json(found, structures)
    except TypeSyntax:
        return f"{shown(text)} is no type of a column{meant(text, (*PRIMITIVES, *structures))}"
    return None


def formatted(
    schema: Mapping[str, Any], value: object, path: str, step: Step = dotted
) -> Iterator[tuple[str, str, str]]:
    """Give each text whose schema has a `format`, with its path and that format."""
    if isinstance(value, str) and "format" in schema:
        yield path, schema["format"], value
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from formatted(one, value, path, step)
    if isinstance(value, dict):
        others = schema.get("additionalProperties")
        for name, one in value.items():
            inner = schema.get("properties", {}).get(name, others)
            if isinstance(inner, dict):
                yield from formatted(inner, one, step(path, name), step)
    if isinstance(value, list | tuple):
        first, others = schema.get("prefixItems", ()), schema.get("items")
        for number, one in enumerate(value):
            inner = first[number] if number < len(first) else others
            if isinstance(inner, dict):
                yield from formatted(inner, one, step(path, number), step)
