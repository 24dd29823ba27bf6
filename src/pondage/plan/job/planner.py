"""The planner of jobs: a definition, its joblets and a registry become a checked plan, or everything that is wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from pondage.define.job.component import ComponentDefinition, Registry, Schema
from pondage.define.job.job import JobConfig, JobDefinition, JobProblem, JobRefused
from pondage.define.pond.definition import ScheduleDefinition
from pondage.define.types.port import PANIC_PORT, natural_order
from pondage.define.types.type_registry import BUILT_IN, TypeRegistry, structures_of
from pondage.expr import compile_text
from pondage.kernel.control.shape import (
    ControlEdge,
    DataEdge,
    EdgeKind,
    JobPlan,
    Join,
    PlanComponent,
    PlanPort,
    Virtual,
)
from pondage.plan.job.bodies import cut
from pondage.plan.job.check import check, input_port, is_startable
from pondage.plan.job.graph import Control, Data, Findings, Graph, Vertex, a_cycle, successors, topological
from pondage.plan.job.groups import fused_groups
from pondage.plan.job.inference import Inference
from pondage.plan.job.iterators import iterator_shape
from pondage.plan.job.joblets import expand
from pondage.plan.job.moments import warn_of_races
from pondage.plan.job.scopes import Layout, lay_out, planned_scopes, planned_subs
from pondage.plan.job.types import GraphTypes, check_types
from pondage.plan.job.waits import self_waiting


class PlannedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A plan, with the warnings about it and the ports whose type only Spark can tell."""

    plan: JobPlan
    warnings: tuple[JobProblem, ...] = ()
    unresolved: tuple[str, ...] = ()
    inferred: dict[str, str] = {}
    """What Spark told of outputs."""
    reasons: dict[str, str] = {}
    """Why it could not tell others, where it was asked."""
    schedule: ScheduleDefinition | None = None


def plan_job(
    job: JobDefinition,
    joblets: Mapping[str, JobDefinition],
    registry: Registry,
    *,
    fuses: bool = True,
    problems: tuple[JobProblem, ...] = (),
    schemas: Mapping[str, Schema] | None = None,
    types: TypeRegistry = BUILT_IN,
    is_alone: bool = False,
    inference: Inference | None = None,
) -> PlannedJob:
    """Plan a job; raises JobRefused with all problems (those of the loader that are given, and all of its own).

    `types` explains the names of types that ports are declared with. A job that `is_alone` has nobody who gives it
    inputs. `inference` has what Spark answered about ports that are to be inferred.
    """
    findings = Findings()
    findings.problems += problems
    graph = expand(job, joblets, registry, findings)
    structures = structures_of(types)
    if not check(graph, findings, structures):
        raise JobRefused(findings.problems)
    for name, _ in graph.taken.values():
        graph.vertices[name].is_extracted = True
    if is_alone and job.inputs:
        message = (
            f"the job needs the inputs {', '.join(sorted(job.inputs))}: name it in a Pond with pond.job(…), or call it "
            'as a joblet with type: "@…"'
        )
        findings.wrong("JOB_HAS_INPUTS", message, job.inputs_at, path="$.inputs")
    found = check_types(graph, findings, schemas, structures, inference=inference)
    plan = plan_graph(graph, findings, found, job.config, fuses=fuses)
    if plan is None or findings.problems:
        raise JobRefused(findings.problems)
    plan = hashed(
        msgspec.structs.replace(
            plan, name=job.name, version=job.version, config=job.config, context=job.context, inputs=graph.given,
            outputs=graph.taken,
        )
    )  # fmt: skip
    return PlannedJob(
        plan=plan,
        warnings=tuple(findings.warnings),
        unresolved=tuple(found.unresolved),
        inferred=found.inferred,
        reasons=found.reasons,
        schedule=job.schedule,
    )


def plan_graph(
    graph: Graph, findings: Findings, types: GraphTypes, config: JobConfig, *, fuses: bool
) -> JobPlan | None:
    """Plan a graph that was checked: a job's or a tree's. None when something is found to be wrong with it."""
    return _Planner(config, findings, types, fuses=fuses).level(graph)


def hashed(plan: JobPlan) -> JobPlan:
    """Give a complete plan its hash."""
    return msgspec.structs.replace(plan, hash=hashlib.sha256(msgspec.json.encode(plan, order="sorted")).hexdigest())


class _Planner:
    def __init__(self, config: JobConfig, findings: Findings, types: GraphTypes, *, fuses: bool) -> None:
        self.config = config
        self.findings = findings
        self.types = types
        self.fuses = fuses

    def level(self, graph: Graph) -> JobPlan | None:
        """Plan one level and the bodies in it; None when something is wrong with it."""
        flat = graph
        graph, bodies = cut(graph, self.findings)
        order = topological(graph)
        if order is None:
            cycle = a_cycle(successors(graph)) or []
            place = graph.vertices[cycle[0]].call.place
            self.findings.wrong("CYCLE_DETECTED", " -> ".join(cycle), place)
            return None
        layout = lay_out(graph, order, self.findings)
        plans = {name: self.level(body) for name, body in bodies.items()}
        if self.findings.problems:
            return None
        plan = self._assembled(flat, graph, layout, {name: body for name, body in plans.items() if body is not None})
        waiting = self_waiting(plan)
        if waiting is not None:
            place = graph.vertices[order[0]].call.place
            self.findings.wrong("CYCLE_DETECTED", waiting, place)
        warn_of_races(plan, self.findings)
        return plan

    def _assembled(self, flat: Graph, graph: Graph, layout: Layout, bodies: dict[str, JobPlan]) -> JobPlan:
        place = {name: number for number, name in enumerate(layout.order)}
        inbound: dict[str, list[Control]] = {name: [] for name in place}
        fed: dict[str, list[Data]] = {name: [] for name in place}
        read: dict[str, set[str]] = {name: set() for name in place}
        for edge in graph.control:
            inbound[edge.target].append(edge)
        for data in graph.data:
            fed[data.target].append(data)
            read[data.source].add(data.source_port)
        components = [
            self._component(flat, graph.vertices[name], layout, inbound[name], fed[name], read[name], bodies.get(name))
            for name in layout.order
        ]
        needed = _needed(components, graph, place)
        components = [
            msgspec.structs.replace(one, is_needed=True) if at in needed else one for at, one in enumerate(components)
        ]
        control = tuple(_control(edge, place) for edge in graph.control)
        digests = {
            number: _digest([components[place[member]].digest for member in members])
            for number, members in enumerate(layout.subs)
        }
        plan = JobPlan(
            components=tuple(components),
            data=tuple(self._data(data, place) for data in graph.data),
            control=control,
            scopes=planned_scopes(layout, place),
            subs=planned_subs(graph, layout, place, digests),
            joins=_joins(layout, place, control),
            bodies=bodies,
        )
        return msgspec.structs.replace(plan, groups=fused_groups(plan, graph)) if self.fuses else plan

    def _component(
        self,
        flat: Graph,
        vertex: Vertex,
        layout: Layout,
        inbound: list[Control],
        fed: list[Data],
        read: set[str],
        body: JobPlan | None,
    ) -> PlanComponent:
        call, definition = vertex.call, vertex.definition
        is_real = vertex.virtual is Virtual.NONE
        component = PlanComponent(
            name=vertex.name,
            type=call.type,
            params=call.params if is_real else {},
            die_on_error=call.die_on_error,
            startable=is_startable(vertex, bool(inbound)),
            global_export=call.global_export if is_real else (),
            retries=call.retries if is_real else 0,
            timeout_s=call.timeout_s if is_real else None,
            virtual=vertex.virtual,
            caller=vertex.caller,
            ports=_ports(flat, vertex, fed),
            outputs=tuple(natural_order(read)),
            after=definition.after if definition else None,
            globals=definition.globals if definition else None,
            labels=call.labels,
            gives=self._gives(vertex, read),
            sub=layout.sub_of[vertex.name],
            scope=layout.scope_of[vertex.name],
            iterator=iterator_shape(call, self.config) if vertex.is_iterator else None,
        )
        return msgspec.structs.replace(component, digest=_component_digest(component, definition, inbound, fed, body))

    def _gives(self, vertex: Vertex, read: set[str]) -> dict[str, str]:
        if vertex.definition is None or vertex.definition.mode != "stream":
            return {}
        wanted = read | {port for name, port in self.types.outputs if name == vertex.name} - {PANIC_PORT}
        found = {port: self.types.explained(vertex.name, port) for port in natural_order(wanted)}
        return {port: type_ for port, type_ in found.items() if type_}

    def _data(self, data: Data, place: dict[str, int]) -> DataEdge:
        found = self.types.edges.get((f"{data.source}.{data.source_port}", f"{data.target}.{data.target_port}"))
        is_read_whole = found is not None and found.type.startswith("Stream") and not found.is_stream
        return DataEdge(
            source=place[data.source],
            source_port=data.source_port,
            target=place[data.target],
            target_port=data.target_port,
            is_stream=found is not None and found.is_stream,
            gathers=data.gathers,
            max_in_flight_rows=data.max_in_flight_rows,
            max_in_flight_bytes=data.max_in_flight_bytes,
            type=self.types.explained(data.source, data.source_port) if is_read_whole else "",
        )


def _component_digest(
    component: PlanComponent,
    definition: ComponentDefinition | None,
    inbound: list[Control],
    fed: list[Data],
    body: JobPlan | None,
) -> str:
    """Give what changes when anything changes that its results depend on directly."""
    return _digest(
        [
            msgspec.structs.replace(component, sub=0, scope=0),
            (definition.version, definition.archive) if definition else (),
            sorted((edge.source, edge.label, edge.expression) for edge in inbound),
            sorted((data.source, data.source_port, data.target_port) for data in fed),
            body and [one.digest for one in body.components],
        ]
    )


def _ports(flat: Graph, vertex: Vertex, fed: list[Data]) -> tuple[PlanPort, ...]:
    ports = {}
    for name in natural_order({data.target_port for data in fed} | set(vertex.outside)):
        declared = input_port(flat, vertex, name)
        if declared is None and vertex.is_iterator and "." in name:
            # What the body reads from outside; its own declaration says whether several may feed it.
            inner, _, port = name.rpartition(".")
            found = input_port(flat, flat.vertices[inner], port)
            ports[name] = PlanPort(name=name, multi=found is not None and found.multi)
            continue
        if declared is not None:
            ports[name] = PlanPort(
                name=name,
                required=declared.required,
                multi=declared.multi,
                type=declared.type,
                is_outside=name in vertex.outside,
                item_of=vertex.outside.get(name, ""),
            )
    return tuple(ports.values())


def _needed(components: list[PlanComponent], graph: Graph, place: dict[str, int]) -> set[int]:
    """Give those that feed a required port as its only producer: without them something cannot run (C-37)."""
    producers: dict[tuple[str, str], list[int]] = {}
    for data in graph.data:
        if data.source_port != PANIC_PORT:
            producers.setdefault((data.target, data.target_port), []).append(place[data.source])
    required = {(one.name, port.name) for one in components for port in one.ports if port.required}
    return {found[0] for port, found in producers.items() if port in required and len(found) == 1}


def _control(edge: Control, place: dict[str, int]) -> ControlEdge:
    return ControlEdge(
        kind=edge.kind,
        source=place[edge.source] if edge.source else -1,
        target=place[edge.target],
        order=edge.order,
        expression=compile_text(edge.expression) if edge.kind is EdgeKind.IF else None,
        label=edge.label,
        is_whole=edge.is_whole,
    )


def _joins(layout: Layout, place: dict[str, int], control: tuple[ControlEdge, ...]) -> tuple[Join, ...]:
    edges: dict[int, list[int]] = {}
    for number, edge in enumerate(control):
        if edge.kind is EdgeKind.SYNCHRONISE:
            edges.setdefault(edge.target, []).append(number)
    return tuple(
        Join(target=place[name], fork=place[fork], edges=tuple(edges[place[name]]), branches=tuple(branches))
        for name, (fork, branches) in layout.joins.items()
    )


def _digest(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value)).hexdigest()[:16]
