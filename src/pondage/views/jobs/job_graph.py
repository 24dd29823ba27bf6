"""The plan of a job run as a picture is drawn from it: components, and the edges between them with their types."""

from __future__ import annotations

import msgspec

from pondage.define.job.flow import FlowFacts
from pondage.kernel.control.shape import JobPlan, PlanComponent, Virtual
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.views.jobs.jobs import find_run


class GraphNode(msgspec.Struct, frozen=True, kw_only=True):
    """A component of the plan. `of` is the iterator whose body it belongs to, empty outside of any."""

    name: str
    type: str
    subjob: str
    of: str = ""


class GraphEdge(msgspec.Struct, frozen=True, kw_only=True):
    """Data (`label` names its ports, `type` what flows) or control (`label` is `ok`, `error`, `if1`, …)."""

    source: str
    target: str
    kind: str
    label: str
    type: str = ""


class JobGraphView(msgspec.Struct, frozen=True, kw_only=True):
    """Every component of a run's plan, those in bodies of iterators too, and every edge."""

    run: str
    job: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]


def job_graph(tx: Transaction, ledger: Ledger, environment: str, given: str) -> JobGraphView:
    """Answer the plan that a run of a job started with; raises `NotFound`."""
    run = find_run(tx, environment, given)
    stored = ledger.job(tx, run.definition).stored
    nodes, edges = graph_of(stored.plan)
    if stored.flow is not None:
        edges = [_inferred(edge, stored.flow) for edge in edges]
    return JobGraphView(run=run.public_id, job=run.job, nodes=tuple(nodes), edges=tuple(edges))


def graph_of(plan: JobPlan, of: str = "") -> tuple[list[GraphNode], list[GraphEdge]]:
    """Answer the nodes and edges of one level and of everything inside it."""
    parts = plan.components
    nodes = [
        GraphNode(name=each.name, type=each.type, subjob=plan.subs[each.sub].name if plan.subs else "", of=of)
        for each in parts
        if each.virtual is Virtual.NONE
    ]
    edges = [
        GraphEdge(
            source=parts[each.source].name,
            target=parts[each.target].name,
            kind="stop" if each in plan.stops else "data",
            label=f"{each.source_port} → {each.target_port}",
            type=_type(parts[each.target], each.target_port),
        )
        for each in (*plan.data, *plan.stops)
    ]
    edges += [
        GraphEdge(
            source=parts[each.source].name if each.source >= 0 else of,
            target=parts[each.target].name,
            kind=each.kind.value,
            label=each.label or each.kind.value,
        )
        for each in plan.control
    ]
    for name, body in plan.bodies.items():
        inner, inside = graph_of(body, name)
        nodes += inner
        edges += inside
    return nodes, edges


def _inferred(edge: GraphEdge, flow: FlowFacts) -> GraphEdge:
    """Answer an edge of a tree with the type that was inferred, which says more than the port's own."""
    output, _, port = edge.label.partition(" → ")
    known = flow.edges.get(f"{edge.source}.{output} {edge.target}.{port}")
    return edge if known is None else msgspec.structs.replace(edge, type=known)


def _type(component: PlanComponent, port: str) -> str:
    return next((each.type for each in component.ports if each.name == port), "")
