"""Fused groups (2.7): deterministic table components of one sub-job that become one execution."""

from __future__ import annotations

from collections import defaultdict

from pondage.kernel.control.shape import DataEdge, JobPlan, PlanComponent, Virtual
from pondage.plan.job.graph import Graph


def fused_groups(plan: JobPlan, graph: Graph) -> tuple[tuple[int, ...], ...]:
    """Give the groups of two or more members, each in topological order with its last member at the end."""
    outgoing: dict[int, list[DataEdge]] = defaultdict(list)
    controlled = {edge.target for edge in plan.control}
    controls = {edge.source for edge in plan.control}
    for data in plan.data:
        outgoing[data.source].append(data)
    group_of: dict[int, int] = {}
    members: dict[int, list[int]] = {}
    for at in reversed(range(len(plan.components))):
        component = plan.components[at]
        if not _is_fusible(component, graph):
            continue
        head = _consumer(plan, graph, at, outgoing[at], group_of)
        is_free = at not in controls and at not in controlled and not graph.vertices[component.name].is_extracted
        is_inner = head is not None and is_free and _is_plain(component)
        if is_inner and head is not None and head not in controlled:
            group_of[at] = head
            members[head].append(at)
        else:
            group_of[at] = at
            members[at] = [at]
    return tuple(tuple(sorted(found)) for found in reversed(members.values()) if len(found) > 1)


def _is_fusible(component: PlanComponent, graph: Graph) -> bool:
    definition = graph.vertices[component.name].definition
    return (
        component.virtual is Virtual.NONE
        and component.iterator is None
        and definition is not None
        and definition.deterministic
        and definition.mode == "table"
    )


def _is_plain(component: PlanComponent) -> bool:
    return component.after == () and component.globals == () and component.retries == 0 and component.timeout_s is None


def _consumer(plan: JobPlan, graph: Graph, at: int, outgoing: list[DataEdge], group_of: dict[int, int]) -> int | None:
    """Give the last member of the one group that every connected output leads into, or None."""
    component = plan.components[at]
    by_port: dict[str, int] = defaultdict(int)
    heads = set()
    for data in outgoing:
        by_port[data.source_port] += 1
        target = plan.components[data.target]
        port = next((one for one in target.ports if one.name == data.target_port), None)
        if data.target not in group_of or target.sub != component.sub or port is None:
            return None
        if port.multi or not port.required or data.is_stream or data.target_port == "stop":
            return None
        if not _is_alike(graph, component, target):
            return None
        heads.add(group_of[data.target])
    if len(heads) != 1 or any(count > 1 for count in by_port.values()):
        return None
    return heads.pop()


def _is_alike(graph: Graph, one: PlanComponent, other: PlanComponent) -> bool:
    first, second = graph.vertices[one.name].definition, graph.vertices[other.name].definition
    assert first is not None
    assert second is not None
    is_placed_alike = one.labels == other.labels and first.resources == second.resources
    return is_placed_alike and first.scaling == second.scaling and first.archive == second.archive
