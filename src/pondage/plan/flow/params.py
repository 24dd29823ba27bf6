"""What the nodes of a tree are given: parameters, files below locations, constants, each against its declaration."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice

import msgspec

from pondage.define.job.flow import MAX_PROBLEMS, Tree
from pondage.define.job.job import TypeClash
from pondage.define.types.checking import Wrong, is_base64, wrong_value
from pondage.define.types.type_json import spark_json
from pondage.define.types.type_registry import TypeRegistry, structures_of, unknown_names
from pondage.define.types.types import Type, TypeSyntax, has_any, parse_type
from pondage.define.types.unify import Structures
from pondage.define.values.pointer import trail
from pondage.define.values.schema import pointed, shown
from pondage.plan.flow.graph import at_pointer, node_pointer
from pondage.plan.job.graph import Findings, Graph, Vertex
from pondage.plan.job.params import formatted, wrong_column, wrong_params

_FILE = re.compile(r"[A-Za-z0-9_=][A-Za-z0-9_.=-]{0,127}(?:/[A-Za-z0-9_=][A-Za-z0-9_.=-]{0,127}){0,15}\Z")
_NEVER = {
    "path": "name a location and a file",
    "url": "name a location",
    "sql": "use programs",
    "code": "use programs",
}
"""Formats of parameters that are for jobs only."""


def check_node_params(
    tree: Tree,
    graph: Graph,
    findings: Findings,
    *,
    types: TypeRegistry,
    locations: Mapping[str, str],
    secrets: Mapping[str, Collection[str]],
) -> set[str]:
    """Note parameters and constants that do not fit, and give their nodes.

    Names of locations become what they stand for.
    """
    check = _Check(tree, findings, types, locations, secrets)
    wrong = set()
    for name, vertex in graph.vertices.items():
        before = len(findings.problems)
        if tree.nodes[name].const is not None:
            check.constant(vertex)
        else:
            check.params(vertex)
        if len(findings.problems) > before:
            wrong.add(name)
    return wrong


class _Check:
    def __init__(
        self,
        tree: Tree,
        findings: Findings,
        types: TypeRegistry,
        locations: Mapping[str, str],
        secrets: Mapping[str, Collection[str]],
    ) -> None:
        self.tree = tree
        self.findings = findings
        self.types = types
        self.structures = structures_of(types)
        self.locations = locations
        self.secrets = secrets

    def params(self, vertex: Vertex) -> None:
        assert vertex.definition is not None
        path = pointed(node_pointer(vertex.name), "params")
        given = wrong_params(vertex.definition, vertex.call.params, path, pointed)
        for code, where, message in islice(given, MAX_PROBLEMS):
            self.findings.wrong(code, f"{vertex.name}: {message}", at_pointer(self.tree, where))
        texts = formatted(vertex.definition.params, vertex.call.params, path, pointed)
        own = self.secrets.get(vertex.definition.name, ())
        refused = (
            (where, wrong) for where, form, text in texts if (wrong := self.wrong_text(form, text, own)) is not None
        )
        for where, (code, message) in islice(refused, MAX_PROBLEMS):
            self.findings.wrong(code, f"{vertex.name}: {message}", at_pointer(self.tree, where))
        params = self.with_places(vertex.definition.params, vertex.call.params)
        vertex.call = msgspec.structs.replace(vertex.call, params=params)

    def wrong_text(self, form: str, text: str, secrets: Collection[str]) -> tuple[str, str] | None:
        """Answer why a text of a format may not stand in a tree: a code and a message."""
        if form == "location" and text not in self.locations:
            known = ", ".join(sorted(self.locations)) or "none"
            return "UNKNOWN_LOCATION", f"there is no location {shown(text)}; declared are: {known}"
        if form == "file" and not _FILE.match(text):
            return "PARAMS_SCHEMA", f"{shown(text)} is no file below a location"
        if form == "secret" and text not in secrets:
            # Neither a place nor a value: a tree cannot look into the worker's environment or files.
            known = ", ".join(sorted(secrets)) or "none"
            return "PARAMS_SCHEMA", f"that is no secret of the program; declared are: {known}"
        if form in _NEVER:
            return "PARAMS_SCHEMA", f"a tree gives no {form}; {_NEVER[form]}"
        wrong = wrong_column(text, self.structures) if form == "type" else None
        return None if wrong is None else ("PARAMS_SCHEMA", wrong)

    def with_places(self, schema: Mapping[str, object], params: Mapping[str, object]) -> dict[str, object]:
        properties = schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        return {
            name: self.locations.get(value, value)
            if isinstance(value, str) and known.get(name, {}).get("format") == "location"
            else value
            for name, value in params.items()
        }

    def constant(self, vertex: Vertex) -> None:
        const, path = vertex.call.params, pointed(node_pointer(vertex.name), "const")
        text = str(const["type"])
        for code, message in self.wrong_type(text):
            self.findings.wrong(code, message, at_pointer(self.tree, pointed(path, "type")))
            params = {key: value for key, value in const.items() if key != "type"}
            vertex.call = msgspec.structs.replace(vertex.call, params=params)
            return
        for where, want, got in islice(wrong_constant(const, parse_type(text), self.structures, path), MAX_PROBLEMS):
            clash = TypeClash(edge=f"{vertex.name}.out", want=str(want), got=got)
            message = f"{vertex.name}: wanted {want}, got {got}"
            self.findings.wrong("TYPE_MISMATCH", message, at_pointer(self.tree, str(where)), clash=clash)
        if parse_type(text).head in ("Table", "Stream"):
            # Whoever runs it does not know the project's types.
            schema = spark_json(parse_type(text).arguments[0], self.structures)
            vertex.call = msgspec.structs.replace(vertex.call, params={**const, "schema": schema})

    def wrong_type(self, text: str) -> Iterator[tuple[str, str]]:
        """Give why a constant cannot have a type: codes and messages."""
        try:
            found, unknown = parse_type(text), unknown_names(text, self.types)
        except TypeSyntax as error:
            yield "SCHEMA", f"{shown(text)} is no type: {error}"
            return
        if unknown:
            yield "SCHEMA", f"there is no type {unknown[0]}"
        elif found.head not in ("Table", "Stream", "Value", "Bytes"):
            yield "SCHEMA", f"{shown(text)} is nothing that travels: write Table<…>, Stream<…>, Value<…> or Bytes<…>"
        elif found.is_ordered:
            yield "SCHEMA", f"{shown(text)}: a constant is a table, whose rows have no order"
        elif has_any(found):
            yield "AMBIGUOUS_TYPE", f"{found}: a constant says its type in full"


def wrong_constant(const: dict[str, object], type_: Type, structures: Structures, pointer: str) -> Iterator[Wrong]:
    """Give everything in a constant that does not fit its type. What a `ref` leads to is looked at when it is read."""
    path = trail(pointer)
    if "ref" in const:
        return
    if "bytes" in const:
        if type_.head != "Bytes":
            yield path.below("bytes"), type_, "bytes"
        elif not is_base64(const["bytes"]):
            yield path.below("bytes"), type_, f"no base64: {shown(const['bytes'])}"
        return
    value, where = const["value"], path.below("value")
    if type_.head in ("Table", "Stream"):
        if not isinstance(value, list):
            yield where, type_, shown(value)
            return
        for number, row in enumerate(value):
            yield from wrong_value(row, type_.arguments[0], structures, where.below(number))
    elif type_.head == "Value":
        yield from wrong_value(value, type_.arguments[0], structures, where)
    else:
        yield where, type_, shown(value)
