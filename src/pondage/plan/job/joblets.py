"""Joblets become part of the graph: internals `K.__x` between the proxies `K.__proxy_in` and `K.__proxy_out`."""

from __future__ import annotations

from collections.abc import Mapping

from pondage.define.job.component import Registry
from pondage.define.job.job import Call, ControlLink, DataLink, JobDefinition, Place
from pondage.define.types.port import declared_port
from pondage.define.values.suggestion import meant
from pondage.kernel.control.shape import EdgeKind, Virtual
from pondage.plan.job.graph import Control, Data, Findings, Graph, Vertex

MAX_DEPTH = 20

_WHOLE = (EdgeKind.SUBJOB_OK, EdgeKind.SUBJOB_ERROR)


def expand(job: JobDefinition, joblets: Mapping[str, JobDefinition], registry: Registry, findings: Findings) -> Graph:
    """Give the flat graph of a job; everything that cannot be expanded is a finding."""
    work = _Expansion(joblets, registry, findings)
    work.add(job, prefix="", caller="", depth=0)
    work.drop_unfed_inputs()
    work.expose(job)
    return work.graph


class _Expansion:
    def __init__(self, joblets: Mapping[str, JobDefinition], registry: Registry, findings: Findings) -> None:
        self.joblets = joblets
        self.registry = registry
        self.findings = findings
        self.graph = Graph(vertices={}, data=[], control=[], given={}, taken={})
        self.calls: dict[str, JobDefinition] = {}
        self.unknown: set[str] = set()

    def add(self, job: JobDefinition, *, prefix: str, caller: str, depth: int) -> None:
        seen: set[str] = set()
        for call in job.calls:
            if call.name in seen:
                self.findings.wrong("DUPLICATE_NAME", f"component {call.name!r} is declared twice", call.place)
                continue
            seen.add(call.name)
            self._add_call(call, prefix + call.name, caller, depth)
        before = len(self.graph.control)
        for link in job.data:
            self._add_data(link, prefix, seen)
        for edge in job.control:
            self._add_control(edge, prefix, seen)
        if caller:
            self._add_ports(job, prefix, caller, seen)
            self._add_starts(job, prefix, caller, before)

    def _add_call(self, call: Call, name: str, caller: str, depth: int) -> None:
        if not call.type.startswith("@"):
            definition = self.registry.get(call.type)
            if definition is None:
                message = f"component type {call.type!r} is not in the registry{meant(call.type, self.registry)}"
                self.findings.wrong("UNKNOWN_TYPE", message, call.place)
                self.unknown.add(name)
                return
            self.graph.vertices[name] = Vertex(name=name, call=call, definition=definition, caller=caller)
            return
        joblet = self.joblets.get(call.type[1:])
        if joblet is None:
            wanted = call.type[1:]
            self.findings.wrong("JOBLET_NOT_FOUND", f"joblet {wanted!r}{meant(wanted, self.joblets)}", call.place)
            self.unknown.add(name)
            return
        if depth >= MAX_DEPTH:
            top = name.split(".__")[0]
            message = f"more than {MAX_DEPTH} levels of joblets below {top}"
            self.findings.wrong("JOBLET_RECURSION_DEPTH", message, call.place)
            self.unknown.add(name)
            return
        self.calls[name] = joblet
        self._add_proxy(call, name, Virtual.IN)
        self.add(joblet, prefix=f"{name}.__", caller=name, depth=depth + 1)
        self._add_proxy(call, name, Virtual.OUT)

    def _add_proxy(self, call: Call, name: str, virtual: Virtual) -> None:
        full = f"{name}.__proxy_{virtual.value}"
        self.graph.vertices[full] = Vertex(name=full, call=call, virtual=virtual, caller=name)

    def _end(self, name: str, virtual: Virtual) -> str:
        return f"{name}.__proxy_{virtual.value}" if name in self.calls else name

    def _is_known(self, name: str, prefix: str, seen: set[str], place: Place) -> bool:
        if name not in seen:
            self.findings.wrong("UNKNOWN_COMPONENT", f"there is no component {name!r}{meant(name, seen)}", place)
            return False
        return prefix + name not in self.unknown

    def _add_data(self, link: DataLink, prefix: str, seen: set[str]) -> None:
        known = [self._is_known(name, prefix, seen, link.place) for name in (link.source, link.target)]
        if not all(known):
            return
        source, target = prefix + link.source, prefix + link.target
        for name, port, direction in ((source, link.source_port, "output"), (target, link.target_port, "input")):
            if (joblet := self.calls.get(name)) is not None:
                exposed = joblet.outputs if direction == "output" else joblet.inputs
                if port not in exposed:
                    message = f"{name} has no {direction} port {port!r}"
                    self.findings.wrong("UNKNOWN_PORT", message, link.place)
                    return
        self.graph.data.append(
            Data(
                source=self._end(source, Virtual.OUT),
                source_port=link.source_port,
                target=self._end(target, Virtual.IN),
                target_port=link.target_port,
                max_in_flight_rows=link.max_in_flight_rows,
                max_in_flight_bytes=link.max_in_flight_bytes,
                place=link.place,
            )
        )

    def _add_control(self, link: ControlLink, prefix: str, seen: set[str]) -> None:
        known = [self._is_known(name, prefix, seen, link.place) for name in (link.source, link.target)]
        if not all(known):
            return
        kind, source = EdgeKind(link.kind), prefix + link.source
        self.graph.control.append(
            Control(
                kind=kind,
                source=self._end(source, Virtual.OUT),
                target=self._end(prefix + link.target, Virtual.IN),
                order=link.order or 0,
                expression=link.expression or "",
                is_whole=kind in _WHOLE and source in self.calls,
                place=link.place,
            )
        )

    def _add_ports(self, job: JobDefinition, prefix: str, caller: str, seen: set[str]) -> None:
        place = Place(file=job.file)
        for port, (name, inner) in job.inputs.items():
            if self._is_known(name, prefix, seen, place):
                target = self._end(prefix + name, Virtual.IN)
                self.graph.data.append(
                    Data(source=f"{caller}.__proxy_in", source_port=port, target=target, target_port=inner, place=place)
                )
        for port, (name, inner) in job.outputs.items():
            if self._is_known(name, prefix, seen, place):
                source = self._end(prefix + name, Virtual.OUT)
                self.graph.data.append(
                    Data(
                        source=source, source_port=inner, target=f"{caller}.__proxy_out", target_port=port, place=place
                    )
                )

    def _add_starts(self, job: JobDefinition, prefix: str, caller: str, before: int) -> None:
        """What has no inbound control inside starts when the call is triggered, not at the beginning of the job."""
        controlled = {edge.target for edge in self.graph.control[before:]}
        for call in job.calls:
            target = self._end(prefix + call.name, Virtual.IN)
            if target in self.graph.vertices and target not in controlled:
                controlled.add(target)
                self.graph.control.append(
                    Control(kind=EdgeKind.OK, source=f"{caller}.__proxy_in", target=target, is_implicit=True)
                )

    def expose(self, job: JobDefinition) -> None:
        """Find the components behind the inputs and outputs of the job itself; a call's are in its joblet."""
        place = Place(file=job.file)
        for exposed, end in job.inputs.items():
            if (found := self._inner(end, "input", place)) is not None:
                self.graph.given[exposed] = found
        for exposed, end in job.outputs.items():
            if (found := self._inner(end, "output", place)) is not None:
                self.graph.taken[exposed] = found

    def _inner(self, end: tuple[str, str], direction: str, place: Place) -> tuple[str, str] | None:
        name, port = end
        while (joblet := self.calls.get(name)) is not None:
            exposed = joblet.inputs if direction == "input" else joblet.outputs
            if port not in exposed:
                self.findings.wrong("UNKNOWN_PORT", f"{name} has no {direction} port {port!r}", place)
                return None
            inner, port = exposed[port]
            name = f"{name}.__{inner}"
        vertex = self.graph.vertices.get(name)
        if vertex is None:
            if name not in self.unknown:
                self.findings.wrong("UNKNOWN_COMPONENT", f"there is no component {name!r}", place)
            return None
        ports = vertex.definition.inputs if direction == "input" and vertex.definition else {}
        if direction == "output" and vertex.definition is not None:
            ports = vertex.definition.outputs
        if declared_port(ports, port) is None:
            self.findings.wrong("UNKNOWN_PORT", f"{name} has no {direction} port {port!r}", place)
            return None
        return name, port

    def drop_unfed_inputs(self) -> None:
        """An exposed input that the caller does not connect feeds nothing inside."""
        while True:
            fed = {(data.target, data.target_port) for data in self.graph.data}
            kept = [
                data
                for data in self.graph.data
                if self.graph.vertices.get(data.source) is None
                or self.graph.vertices[data.source].virtual is not Virtual.IN
                or (data.source, data.source_port) in fed
            ]
            if len(kept) == len(self.graph.data):
                break
            self.graph.data = kept
        known = self.graph.vertices
        self.graph.data = [data for data in self.graph.data if data.source in known and data.target in known]
        self.graph.control = [edge for edge in self.graph.control if edge.source in known and edge.target in known]
