"""What must hold for a tree before types are asked about: sources, sinks, parameters, locations, cycles."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise

import msgspec

from pondage.define.flow import Tree, TreeEdge
from pondage.define.job import Place, TypeClash
from pondage.define.port import PANIC_PORT, STOP_PORT
from pondage.define.schema import pointed, shown
from pondage.define.type_json import spark_json
from pondage.define.type_registry import TypeRegistry, structures_of, unknown_names
from pondage.define.types import TypeSyntax, has_any, parse_type
from pondage.plan.constants import wrong_constant
from pondage.plan.flow_graph import at_pointer, node_pointer
from pondage.plan.job_graph import Findings, Graph, Vertex, a_cycle, successors
from pondage.plan.job_params import formatted, wrong_params

_FILE = re.compile(r"[A-Za-z0-9_=][A-Za-z0-9_.=-]{0,127}(?:/[A-Za-z0-9_=][A-Za-z0-9_.=-]{0,127}){0,15}\Z")
MAX_CYCLE = 20
"""How many nodes of a cycle a message names."""
_NEVER = {
    "path": "name a location and a file",
    "url": "name a location",
    "sql": "use programs",
    "code": "use programs",
}
"""Formats of parameters that are for jobs only."""


def check_sources(tree: Tree, graph: Graph, findings: Findings) -> set[str]:
    """Note inputs with too few or too many sources; give the nodes that lack one, whose types cannot be told."""
    fed: dict[str, list[TreeEdge]] = defaultdict(list)
    for edge in tree.edges:
        fed[edge.target].append(edge)
    lacking = set()
    for name, vertex in graph.vertices.items():
        assert vertex.definition is not None
        for title, port in vertex.definition.inputs.items():
            found = [edge for edge in fed[name] if _is_for(title, edge.target_port)]
            if port.required and not found:
                message = f"{name}.{title} has no source"
                findings.wrong("INPUT_SOURCES", message, at_pointer(tree, node_pointer(name)))
                lacking.add(name)
            seen = set()
            for edge in found if not port.multi else ():
                if edge.target_port in seen:
                    message = f"{name}.{edge.target_port} takes one source"
                    findings.wrong("INPUT_SOURCES", message, at_pointer(tree, f"/edges/{edge.number}/1"))
                seen.add(edge.target_port)
    return lacking


def check_sinks(tree: Tree, graph: Graph, findings: Findings) -> None:
    """Note outputs that nobody reads and that may not be thrown away."""
    read = {(edge.source, edge.source_port) for edge in tree.edges}
    read |= {(one.node, one.port) for one in tree.extracts.values()}
    for name, vertex in graph.vertices.items():
        assert vertex.definition is not None
        for title, port in vertex.definition.outputs.items():
            if not port.discardable and not title.endswith("*") and (name, title) not in read:
                message = f"nobody reads {name}.{title}: connect it, extract it, or send it to void_sink"
                findings.wrong("OUTPUT_UNUSED", message, at_pointer(tree, node_pointer(name)))


def check_node_params(
    tree: Tree, graph: Graph, findings: Findings, *, types: TypeRegistry, locations: Mapping[str, str]
) -> set[str]:
    """Note parameters and constants that do not fit, and give their nodes.

    Names of locations become what they stand for.
    """
    wrong = set()
    for name, vertex in graph.vertices.items():
        before = len(findings.problems)
        if tree.nodes[name].const is not None:
            _check_constant(tree, vertex, findings, types)
            continue
        assert vertex.definition is not None
        path = pointed(node_pointer(name), "params")
        for code, where, message in wrong_params(vertex.definition, vertex.call.params, path, pointed):
            findings.wrong(code, f"{name}: {message}", at_pointer(tree, where))
        for where, form, text in formatted(vertex.definition.params, vertex.call.params, path, pointed):
            _check_text(tree, name, where, form, text, findings, types=types, locations=locations)
        params = _with_places(vertex.definition.params, vertex.call.params, locations)
        vertex.call = msgspec.structs.replace(vertex.call, params=params)
        if len(findings.problems) > before:
            wrong.add(name)
    return wrong


def check_circles(tree: Tree, graph: Graph, findings: Findings) -> bool:
    """Note a cycle at its first edge; False when there is one."""
    cycle = a_cycle(successors(graph))
    if cycle is None:
        return True
    steps = set(pairwise(cycle))
    first = min(one.number for one in tree.edges if (one.source, one.target) in steps and one.target_port != STOP_PORT)
    told = cycle if len(cycle) <= MAX_CYCLE else [*cycle[:MAX_CYCLE], "…", cycle[-1]]
    findings.wrong("CYCLE_DETECTED", " -> ".join(told), at_pointer(tree, f"/edges/{first}"))
    return False


def _is_for(title: str, end: str) -> bool:
    return end == title or (title.endswith("*") and end.startswith(title[:-1]) and end not in (STOP_PORT, PANIC_PORT))


def _check_text(
    tree: Tree, name: str, where: str, form: str, text: str, findings: Findings, *, types: TypeRegistry,
    locations: Mapping[str, str],
) -> None:  # fmt: skip
    place = at_pointer(tree, where)
    if form == "location" and text not in locations:
        known = ", ".join(sorted(locations)) or "none"
        findings.wrong("UNKNOWN_LOCATION", f"{name}: there is no location {shown(text)}; declared are: {known}", place)
    elif form == "file" and not _FILE.match(text):
        findings.wrong("PARAMS_SCHEMA", f"{name}: {shown(text)} is no file below a location", place)
    elif form in _NEVER:
        findings.wrong("PARAMS_SCHEMA", f"{name}: a tree gives no {form}; {_NEVER[form]}", place)
    elif form == "type":
        _check_column(name, text, types, place, findings)


def _check_column(name: str, text: str, types: TypeRegistry, place: Place, findings: Findings) -> None:
    try:
        found = parse_type(text)
    except TypeSyntax:
        return  # said already
    try:
        spark_json(found, structures_of(types))
    except TypeSyntax:
        findings.wrong("PARAMS_SCHEMA", f"{name}: {found} is no type of a column", place)


def _with_places(
    schema: Mapping[str, object], params: Mapping[str, object], locations: Mapping[str, str]
) -> dict[str, object]:
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    return {
        name: locations.get(value, value)
        if isinstance(value, str) and known.get(name, {}).get("format") == "location"
        else value
        for name, value in params.items()
    }


def _check_constant(tree: Tree, vertex: Vertex, findings: Findings, types: TypeRegistry) -> None:
    const, path = vertex.call.params, pointed(node_pointer(vertex.name), "const")
    text = str(const["type"])
    wrong = _wrong_type(text, types)
    if wrong:
        findings.wrong(*wrong, at_pointer(tree, pointed(path, "type")))
        params = {key: value for key, value in const.items() if key != "type"}
        vertex.call = msgspec.structs.replace(vertex.call, params=params)
        return
    for where, want, got in wrong_constant(const, parse_type(text), structures_of(types), path):
        clash = TypeClash(edge=f"{vertex.name}.out", want=str(want), got=got)
        message = f"{vertex.name}: wanted {want}, got {got}"
        findings.wrong("TYPE_MISMATCH", message, at_pointer(tree, where), clash=clash)


def _wrong_type(text: str, types: TypeRegistry) -> tuple[str, str] | None:
    """Answer why a constant cannot have a type: a code and a message."""
    try:
        found, unknown = parse_type(text), unknown_names(text, types)
    except TypeSyntax as error:
        return "SCHEMA", f"{shown(text)} is no type: {error}"
    if unknown:
        return "SCHEMA", f"there is no type {unknown[0]}"
    if found.head not in ("Table", "Stream", "Value", "Bytes"):
        return "SCHEMA", f"{found} is nothing that travels: write Table<…>, Stream<…>, Value<…> or Bytes<…>"
    return ("AMBIGUOUS_TYPE", f"{found}: a constant says its type in full") if has_any(found) else None
