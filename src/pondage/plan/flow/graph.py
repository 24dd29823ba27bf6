"""A tree becomes a graph: nodes are found in the registry, edges become data, control and stop links."""

from __future__ import annotations

import re

import msgspec

from pondage.define.job.component import ComponentDefinition, Registry
from pondage.define.job.flow import CONST, Tree, TreeEdge, TreeNode
from pondage.define.job.job import Call, Place
from pondage.define.types.port import PANIC_PORT, STOP_PORT, declared_port
from pondage.define.values.schema import pointed
from pondage.define.values.suggestion import meant
from pondage.kernel.control.shape import EdgeKind
from pondage.plan.job.graph import Control, Data, Findings, Graph, Vertex

_PROG = re.compile(r"([a-z0-9_]+)(?:@([0-9.]+))?\Z")


def node_pointer(name: str) -> str:
    """Give the pointer to a node."""
    return pointed("/nodes", name)


def at_pointer(tree: Tree, path: str) -> Place:
    """Give the place that a pointer leads to."""
    return Place(file=tree.file, path=path)


def tree_graph(tree: Tree, registry: Registry, findings: Findings) -> tuple[Graph, set[str]]:
    """Give the graph of a tree without whatever cannot be found; each such thing is a finding, and only one.

    With it come the nodes that lack an edge because of that.
    """
    doubtful = set()
    graph = Graph(vertices={}, data=[], control=[], stops=[], extracted=[])
    for name, node in tree.nodes.items():
        definition = CONST if node.const is not None else _program(tree, name, node, registry, findings)
        if definition is not None:
            params = node.params if node.const is None else node.const
            call = Call(name=name, type=definition.name, params=params, place=at_pointer(tree, node_pointer(name)))
            graph.vertices[name] = Vertex(name=name, call=call, definition=definition)
    for edge in tree.edges:
        if _is_sound(tree, edge, graph, findings):
            _link(graph, edge, at_pointer(tree, f"/edges/{edge.number}"))
        else:
            doubtful.add(edge.target)
    for title, one in tree.extracts.items():
        path = pointed(pointed("/extract", title), "from")
        if one.port == PANIC_PORT:
            message = f"{one.node}.{PANIC_PORT} cannot be extracted; wire it to a handler"
            findings.wrong("UNKNOWN_PORT", message, at_pointer(tree, path))
        elif _has_port(tree, graph, findings, one.node, one.port, path, is_output=True):
            graph.extracted.append((one.node, one.port))
            graph.vertices[one.node].is_extracted = True
    return graph, doubtful


def _program(
    tree: Tree, name: str, node: TreeNode, registry: Registry, findings: Findings
) -> ComponentDefinition | None:
    place = at_pointer(tree, pointed(node_pointer(name), "prog"))
    match = _PROG.match(node.prog)
    found = registry.get(match[1]) if match else None
    if match is None or found is None:
        programs = [one.name for one in registry.values() if one.exposed and one.kind == "plain"]
        near = meant(match[1] if match else node.prog, programs)
        hint = "deploy the project that exposes it (pondage deploy), or see them all: pondage component list"
        findings.wrong("UNKNOWN_PROG", f"there is no program {node.prog!r}{near or f'; {hint}'}", place)
        return None
    if not found.exposed or found.kind != "plain":
        findings.wrong("NOT_EXPOSED", f"{found.name} may not be used in trees", place)
        return None
    if match[2] and not _is_served(match[2], found.version):
        findings.wrong("UNKNOWN_PROG", f"{node.prog} is asked for, and {found.name} is {found.version}", place)
        return None
    return found


def _is_served(asked: str, version: str) -> bool:
    """Is a version at least what is asked for, within its major?"""
    wanted = [int(part) for part in asked.split(".")]
    known = [int(part) for part in version.split(".")]
    return known[0] == wanted[0] and known >= wanted


def _is_sound(tree: Tree, edge: TreeEdge, graph: Graph, findings: Findings) -> bool:
    path = f"/edges/{edge.number}"
    ends = [
        _has_port(tree, graph, findings, edge.source, edge.source_port, f"{path}/0", is_output=True),
        _has_port(tree, graph, findings, edge.target, edge.target_port, f"{path}/1", is_output=False),
    ]
    return all(ends)


def _has_port(
    tree: Tree, graph: Graph, findings: Findings, name: str, port: str, path: str, *, is_output: bool
) -> bool:
    if name not in tree.nodes:
        findings.wrong("UNKNOWN_COMPONENT", f"there is no node {name!r}", at_pointer(tree, path))
        return False
    if name not in graph.vertices:
        return False
    definition = graph.vertices[name].definition
    assert definition is not None
    ports, always = (definition.outputs, PANIC_PORT) if is_output else (definition.inputs, STOP_PORT)
    found = declared_port(ports, port)
    if port != always and (found is None or found.job_only):
        kind = "output" if is_output else "input"
        findings.wrong("UNKNOWN_PORT", f"{name} has no {kind} port {port!r}", at_pointer(tree, path))
        return False
    return True


def _link(graph: Graph, edge: TreeEdge, place: Place) -> None:
    data = Data(
        source=edge.source,
        source_port=edge.source_port,
        target=edge.target,
        target_port=edge.target_port,
        max_in_flight_rows=edge.max_in_flight_rows,
        max_in_flight_bytes=edge.max_in_flight_bytes,
        place=place,
    )
    if edge.target_port == STOP_PORT:
        graph.stops.append(data)
        # Whoever stops or is stopped is an execution of its own: nothing inside a fused group can be.
        graph.vertices[edge.source].is_extracted = graph.vertices[edge.target].is_extracted = True
        return
    graph.data.append(data)
    if edge.source_port == PANIC_PORT:
        control = Control(kind=EdgeKind.ERROR, source=edge.source, target=edge.target, place=place)
        if not any(msgspec.structs.replace(one, place=place) == control for one in graph.control):
            graph.control.append(control)
