"""What must hold for a tree before types are asked about: sources, sinks, no cycles."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from pondage.define.job.flow import Tree, TreeEdge
from pondage.define.types.port import PANIC_PORT, STOP_PORT
from pondage.plan.flow.graph import at_pointer, node_pointer
from pondage.plan.job.graph import Findings, Graph, a_cycle, successors

MAX_CYCLE = 20
"""How many nodes of a cycle a message names."""


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
