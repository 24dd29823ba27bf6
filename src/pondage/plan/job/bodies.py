"""Cutting the bodies of iterators out of a graph (C-32)."""

from __future__ import annotations

from collections import defaultdict

import msgspec

from pondage.kernel.control.shape import EdgeKind, Virtual
from pondage.plan.job.graph import Control, Data, Findings, Graph, topological

_ITERATION = (EdgeKind.ITERATION_OK, EdgeKind.ITERATION_ERROR)


def cut(graph: Graph, findings: Findings) -> tuple[Graph, dict[str, Graph]]:
    """Give the graph without the bodies of its outermost iterators, and these bodies by iterator."""
    bodies: dict[str, Graph] = {}
    for name in topological(graph) or list(graph.vertices):
        if name in graph.vertices and graph.vertices[name].is_iterator:
            inside = _reached(graph, name)
            graph, bodies[name] = _split(graph, name, inside, findings)
    return graph, bodies


def _reached(graph: Graph, iterator: str) -> dict[str, None]:
    following: dict[str, list[str]] = defaultdict(list)
    for data in graph.data:
        following[data.source].append(data.target)
    own: set[str] = set()
    epilogues = []
    for edge in graph.control:
        if edge.source != iterator:
            following[edge.source].append(edge.target)
        elif edge.kind in _ITERATION:
            epilogues.append(edge.target)
        else:
            own.add(edge.target)
    found: dict[str, None] = {}
    stack = [*following[iterator], *epilogues]
    while stack:
        name = stack.pop()
        vertex = graph.vertices[name]
        if name in found or name in own or name == iterator:
            continue
        if vertex.virtual is Virtual.OUT and f"{vertex.caller}.__proxy_in" not in found:
            continue
        found[name] = None
        stack += following[name]
        if vertex.virtual is Virtual.IN:
            stack.append(f"{vertex.caller}.__proxy_out")
    return {name: None for name in graph.vertices if name in found}


def _split(graph: Graph, iterator: str, inside: dict[str, None], findings: Findings) -> tuple[Graph, Graph]:
    outer = Graph(
        vertices={name: one for name, one in graph.vertices.items() if name not in inside}, data=[], control=[]
    )
    body = Graph(vertices={name: graph.vertices[name] for name in inside}, data=[], control=[])
    for data in graph.data:
        _place_data(data, iterator, inside, outer, body)
    for edge in graph.control:
        _place_control(edge, iterator, inside, outer, body, findings)
    return outer, body


def _place_data(data: Data, iterator: str, inside: dict[str, None], outer: Graph, body: Graph) -> None:
    if data.source in inside and data.target in inside:
        body.data.append(data)
    elif data.source in inside:
        name = f"{data.source}.{data.source_port}"
        body.vertices[data.source].is_extracted = True
        outer.data.append(msgspec.structs.replace(data, source=iterator, source_port=name, gathers=data.source))
    elif data.target in inside:
        vertex = body.vertices[data.target]
        known = vertex.outside.get(data.target_port, "")
        vertex.outside = {**vertex.outside, data.target_port: iterator if data.source == iterator else known}
        if data.source != iterator:
            # What a body reads from outside delays its iterator (CF-095).
            port = f"{data.target}.{data.target_port}"
            outer.data.append(msgspec.structs.replace(data, target=iterator, target_port=port))
    else:
        outer.data.append(data)


def _place_control(
    edge: Control, iterator: str, inside: dict[str, None], outer: Graph, body: Graph, findings: Findings
) -> None:
    if edge.source in inside and edge.target in inside:
        body.control.append(edge)
    elif edge.source == iterator and edge.kind in _ITERATION:
        body.control.append(msgspec.structs.replace(edge, source=""))
    elif edge.source in inside or edge.target in inside:
        if edge.is_implicit:
            return
        message = f"{edge.source} ({edge.label}) {edge.target} crosses the border of an iteration of {iterator}"
        findings.wrong("EDGE_INTO_ITERATION", message, edge.place)
    else:
        outer.control.append(edge)
