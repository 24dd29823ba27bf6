"""The planner of flows: a tree becomes a checked plan of the control machine, or everything that is wrong with it.

A flow is a job without control edges of its own: a second reader of an output is a tee, a constant is a component, an
edge from `panic` is an `error` edge with a row, an edge into `stop` a signal beside the graph (flows.md 3 and 4).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from itertools import pairwise

import msgspec

from pondage.define.job.component import Registry, Schema
from pondage.define.job.flow import CONST, Extract, FlowFacts, FlowRefused, Tree, TreeEdge
from pondage.define.job.job import JobConfig, TypeClash
from pondage.define.types.port import INFER, PANIC_PORT, STOP_PORT
from pondage.define.types.type_registry import BUILT_IN, TypeRegistry, structures_of
from pondage.define.types.types import Type
from pondage.define.types.unify import Structures, structure_of
from pondage.define.values.schema import pointed
from pondage.kernel.control.shape import DataEdge, JobPlan
from pondage.plan.flow.graph import at_pointer, node_pointer, tree_graph
from pondage.plan.flow.params import check_node_params
from pondage.plan.job.graph import Data, Findings, Graph, a_cycle, successors
from pondage.plan.job.inference import Inference
from pondage.plan.job.planner import hashed, plan_graph
from pondage.plan.job.types import EdgeType, GraphTypes, check_types

MAX_CYCLE = 20
"""How many nodes of a cycle a message names."""

_ROWS = ("arrow", "parquet", "ndjson", "csv")
_FORMATS = {"Table": _ROWS, "Stream": _ROWS, "Value": ("ndjson",), "Bytes": ("bytes",)}
_NESTED = ("row", "array", "map", "Result", "binary")


class TypedEdge(msgspec.Struct, frozen=True, kw_only=True):
    """An edge with what travels along it; `infer` when only Spark can tell."""

    source: str
    target: str
    type: str
    is_stream: bool = False
    pointer: str


class PlannedFlow(msgspec.Struct, frozen=True, kw_only=True):
    """A plan, the types on its edges, what can be extracted, and the ports whose type only Spark can tell."""

    plan: JobPlan
    edges: tuple[TypedEdge, ...] = ()
    extracts: dict[str, Extract] = {}
    extract_types: dict[str, str] = {}
    unresolved: tuple[str, ...] = ()
    reasons: dict[str, str] = {}
    """Why Spark could not tell it, where it was asked."""

    @property
    def facts(self) -> FlowFacts:
        """Answer what a run of it must know beside the plan."""
        types = {f"{edge.source} {edge.target}": edge.type for edge in self.edges}
        return FlowFacts(extracts=self.extracts, types=self.extract_types, edges=types)


def plan_flow(
    tree: Tree,
    registry: Registry,
    *,
    schemas: Mapping[str, Schema] | None = None,
    types: TypeRegistry = BUILT_IN,
    locations: Mapping[str, str] | None = None,
    secrets: Mapping[str, Collection[str]] | None = None,
    name: str = "",
    fuses: bool = True,
    inference: Inference | None = None,
) -> PlannedFlow:
    """Plan a tree; raises FlowRefused with all problems.

    Only exposed components of the registry may stand in it, and only these locations; a name of a location becomes what
    it stands for in the plan's parameters. `secrets` are the names that parameters of each component may have.
    `inference` has what Spark answered about ports that are to be inferred.
    """
    findings = Findings()
    graph, doubtful = tree_graph(tree, registry, findings)
    doubtful |= check_sources(tree, graph, findings)
    check_sinks(tree, graph, findings)
    doubtful |= check_node_params(tree, graph, findings, types=types, locations=locations or {}, secrets=secrets or {})
    if not check_circles(tree, graph, findings):
        raise FlowRefused(findings.problems)
    structures = structures_of(types)
    known = {**(schemas or {}), CONST.name: const_schema}
    found = check_types(graph, findings, known, structures, doubtful, inference)
    _check_extracts(tree, found, structures, findings)
    if findings.problems:
        raise FlowRefused(findings.problems)
    config = JobConfig(on_component_error="abort", **msgspec.structs.asdict(tree.limits))
    plan = plan_graph(graph, findings, found, config, fuses=fuses)
    if plan is None or findings.problems:
        raise FlowRefused(findings.problems)
    place = {one.name: at for at, one in enumerate(plan.components)}
    plan = hashed(
        msgspec.structs.replace(
            plan,
            name=name,
            config=config,
            stops=tuple(_stop(data, place, found) for data in graph.stops),
            outputs={title: (one.node, one.port) for title, one in tree.extracts.items()},
        )
    )
    return PlannedFlow(
        plan=plan,
        edges=_typed(graph, found),
        extracts=tree.extracts,
        extract_types={
            title: str(found.outputs.get((one.node, one.port)) or INFER) for title, one in tree.extracts.items()
        },
        unresolved=tuple(found.unresolved),
        reasons=found.reasons,
    )


def const_schema(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    """Answer what a constant gives: what its type says."""
    del inputs
    return {"out": str(params["type"])} if "type" in params else {}


def _stop(data: Data, place: Mapping[str, int], types: GraphTypes) -> DataEdge:
    return DataEdge(
        source=place[data.source],
        source_port=data.source_port,
        target=place[data.target],
        target_port=data.target_port,
        is_stream=_type_on(data, types).is_stream,
    )


def _type_on(data: Data, types: GraphTypes) -> EdgeType:
    return types.edges[f"{data.source}.{data.source_port}", f"{data.target}.{data.target_port}"]


def _typed(graph: Graph, types: GraphTypes) -> tuple[TypedEdge, ...]:
    found = []
    for data in (*graph.data, *graph.stops):
        edge = _type_on(data, types)
        found.append(
            TypedEdge(
                source=f"{data.source}.{data.source_port}",
                target=f"{data.target}.{data.target_port}",
                type=edge.type,
                is_stream=edge.is_stream,
                pointer=data.place.path,
            )
        )
    return tuple(sorted(found, key=lambda one: int(one.pointer.rpartition("/")[2])))


def _check_extracts(tree: Tree, types: GraphTypes, structures: Structures, findings: Findings) -> None:
    for title, one in tree.extracts.items():
        found = types.outputs.get((one.node, one.port))
        if found is None or found.head == "Any":
            continue
        allowed = _formats(found, structures)
        if one.format not in allowed:
            path = pointed(pointed("/extract", title), "format")
            message = f"{one.node}.{one.port} is {found}; it can be extracted as {', '.join(allowed)}"
            clash = TypeClash(edge=f"{one.node}.{one.port} -> {title}", want=one.format, got=str(found))
            findings.wrong("TYPE_MISMATCH", message, at_pointer(tree, path), clash=clash)


def _formats(given: Type, structures: Structures) -> tuple[str, ...]:
    formats = _FORMATS.get(given.head, ())
    if formats is not _ROWS:
        return formats
    row = structure_of(given.arguments[0], structures) or given.arguments[0]
    is_flat = not any(field.type.head in _NESTED or field.type.is_named for field in row.fields)
    return formats if is_flat else tuple(one for one in formats if one != "csv")


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
