"""Types across a graph before the run: a topological pass over declared types (flows.md 4, points 1 to 4).

The same pass serves jobs and flows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from pondage.define.job.component import Schema, WrongInput, WrongParams
from pondage.define.job.job import Place, TypeClash
from pondage.define.types.port import INFER, PANIC_PORT, Port, declared_port
from pondage.define.types.types import ANY, PANIC, Type, TypeSyntax, has_any, is_concrete, parse_type, resolved
from pondage.define.types.unify import Bindings, Mismatch, Structures, explained, unify
from pondage.errors import PondageError
from pondage.kernel.control.shape import Virtual
from pondage.plan.job.graph import Data, Findings, Graph, Vertex, topological
from pondage.plan.job.inference import Inference, NotAsked, question_of
from pondage.plan.job.params import fits
from pondage.work.inference import Inferred

PANIC_TABLE = parse_type(f"Table<{PANIC}>")
_STOPPER = Port(type="Stream<Any>", required=False)


class EdgeType(msgspec.Struct, frozen=True):
    """What travels along a data edge."""

    type: str
    is_stream: bool = False


class GraphTypes(msgspec.Struct, frozen=True):
    """The type of each data edge by its two ends, of each output that is read, and the ports that only Spark knows."""

    edges: dict[tuple[str, str], EdgeType]
    outputs: dict[tuple[str, str], Type | None]
    unresolved: list[str]
    structures: Structures = {}
    inferred: dict[str, str] = {}
    """What Spark has told of outputs (`node.port`)."""
    reasons: dict[str, str] = {}
    """Why it could not tell others."""

    def explained(self, name: str, port: str) -> str:
        """Answer what comes out of an output with every name put in; nothing when only Spark knows."""
        found = self.outputs.get((name, port))
        return "" if found is None else str(explained(found, self.structures))


def check_types(
    graph: Graph,
    findings: Findings,
    schemas: Mapping[str, Schema] | None = None,
    structures: Structures | None = None,
    doubtful: Collection[str] = (),
    inference: Inference | None = None,
) -> GraphTypes:
    """Find the types of a graph; everything that does not meet is a finding.

    `schemas` holds the pure `schema(inputs, params)` functions of component types, where the caller may run them.
    Of the `doubtful`, whose inputs or parameters are known to be wrong, nothing more is said. `inference` has what
    Spark answered about ports that are to be inferred; without it they stay unresolved.
    """
    return _Pass(graph, findings, schemas or {}, structures or {}, doubtful, inference).run()


class _Pass:
    def __init__(
        self,
        graph: Graph,
        findings: Findings,
        schemas: Mapping[str, Schema],
        structures: Structures,
        doubtful: Collection[str],
        inference: Inference | None,
    ) -> None:
        self.graph = graph
        self.findings = findings
        self.schemas = schemas
        self.structures = structures
        self.doubtful = set(doubtful)
        self.inference = inference
        self.inferred: dict[str, str] = {}
        self.reasons: dict[str, str] = {}
        self.outputs: dict[tuple[str, str], Type | None] = {}
        self.edges: dict[tuple[str, str], EdgeType] = {}
        self.unresolved: list[str] = []
        self.texts: dict[str, str] = {}
        """Types of outputs as they are shown; a wide table with many readers is written down once."""
        self.inbound: dict[str, list[Data]] = {name: [] for name in graph.vertices}
        for data in graph.data:
            self.inbound[data.target].append(data)
        self.read: dict[str, dict[str, None]] = {name: {} for name in graph.vertices}
        for data in (*graph.data, *graph.stops):
            self.read[data.source][data.source_port] = None
        for name, port in graph.extracted:
            self.read[name][port] = None

    def run(self) -> GraphTypes:
        for name in topological(self.graph) or ():
            vertex = self.graph.vertices[name]
            if vertex.virtual is not Virtual.NONE:
                for data in self.inbound[name]:
                    self.outputs[name, data.target_port] = self.outputs.get((data.source, data.source_port), ANY)
                    self._note(data, self.outputs[name, data.target_port], ANY)
                continue
            bindings = self._inputs(vertex)
            self._outputs(vertex, bindings)
        for data in self.graph.stops:
            self._meet(self.graph.vertices[data.target], data, _STOPPER, {})
        return GraphTypes(self.edges, self.outputs, self.unresolved, self.structures, self.inferred, self.reasons)

    def _declared(self, vertex: Vertex, port: Port, place: Place) -> Type | None:
        """Give a declared type with the component's own variables, or None when Spark must tell."""
        if port.type == INFER:
            return None
        assert vertex.definition is not None
        try:
            return parse_type(port.type, vertex.definition.vars)
        except TypeSyntax as error:
            self.findings.wrong("TYPE_MISMATCH", f"{vertex.name}: the type {port.type!r}: {error}", place)
            return ANY

    def _inputs(self, vertex: Vertex) -> Bindings:
        assert vertex.definition is not None
        bindings: Bindings = {}
        for data in self.inbound[vertex.name]:
            port = declared_port(vertex.definition.inputs, data.target_port)
            if port is not None:
                self._meet(vertex, data, port, bindings)
        return bindings

    def _meet(self, vertex: Vertex, data: Data, port: Port, bindings: Bindings) -> None:
        want, got = self._declared(vertex, port, data.place), self.outputs.get((data.source, data.source_port), ANY)
        self._note(data, got, want)
        if want is None or got is None:
            return
        try:
            unify(got, want, bindings, accept=port.accept, structures=self.structures)
        except Mismatch as error:
            edge = f"{data.source}.{data.source_port} -> {data.target}.{data.target_port}"
            clash = TypeClash(edge=edge, want=str(want), got=str(got), diff=tuple(error.differences))
            message = f"{edge}: wanted {want}, got {got}: {error}"
            self.findings.wrong("TYPE_MISMATCH", message, data.place, clash=clash)
            self.doubtful.add(vertex.name)

    def _note(self, data: Data, got: Type | None, want: Type | None) -> None:
        source, target = f"{data.source}.{data.source_port}", f"{data.target}.{data.target_port}"
        if source not in self.texts:
            self.texts[source] = str(got or INFER)
        is_stream = got is not None and want is not None and got.is_stream and want.is_stream
        self.edges[source, target] = EdgeType(self.texts[source], is_stream)

    def _outputs(self, vertex: Vertex, bindings: Bindings) -> None:
        assert vertex.definition is not None
        given = self._from_schema(vertex)
        given = {**self._from_spark(vertex, given), **given}
        for name in self.read[vertex.name]:
            if name == PANIC_PORT:
                self.outputs[vertex.name, name] = PANIC_TABLE
                continue
            port = declared_port(vertex.definition.outputs, name)
            if port is None:
                continue
            text = given.get(name)
            declared = self._declared(vertex, Port(type=text) if text else port, vertex.call.place)
            found = None if declared is None else resolved(declared, bindings)
            if found is not None and not is_concrete(found):
                if not self._hangs_on_unresolved(vertex):
                    message = f"{vertex.name}.{name}: {found} is not determined by what leads to it"
                    self.findings.wrong("AMBIGUOUS_TYPE", message, vertex.call.place)
                    self.outputs[vertex.name, name] = ANY
                    continue
                found = None
            if found is None:
                self.unresolved.append(f"{vertex.name}.{name}")
            self.outputs[vertex.name, name] = found

    def _hangs_on_unresolved(self, vertex: Vertex) -> bool:
        sources = [self.outputs.get((data.source, data.source_port), ANY) for data in self.inbound[vertex.name]]
        return vertex.name in self.doubtful or any(one is None or has_any(one) for one in sources)

    def _from_schema(self, vertex: Vertex) -> Mapping[str, str]:
        schema = self.schemas.get(vertex.call.type)
        if schema is None or vertex.definition is None or vertex.name in self.doubtful:
            return {}
        if not fits(vertex.definition, vertex.call):
            return {}
        known = self._known(vertex)
        try:
            return schema(known, vertex.call.params)
        except WrongInput as error:
            self._refuse(vertex, error, known)
        except WrongParams as error:
            self.findings.wrong("PARAMS_SCHEMA", f"{vertex.name}: params.{error.path}: {error}", vertex.call.place)
        except Exception as error:  # noqa: BLE001 - recorded: the function may be an author's
            said = error.message if isinstance(error, PondageError) else f"{type(error).__name__}: {error}"
            message = f"{vertex.name}: the schema function of {vertex.call.type} failed: {said}"
            self.findings.wrong("TYPE_MISMATCH", message, vertex.call.place)
        self.doubtful.add(vertex.name)
        return {}

    def _known(self, vertex: Vertex) -> dict[str, str]:
        """Answer the types that come in by each port, and by a port of several edges each as `port[0]`, `port[1]` …"""
        assert vertex.definition is not None
        coming: dict[str, list[str]] = {}
        unknown = set()
        for data in self.inbound[vertex.name]:
            found = self.outputs.get((data.source, data.source_port), ANY)
            if found is None:
                unknown.add(data.target_port)
            coming.setdefault(data.target_port, []).append(str(found))
        known: dict[str, str] = {}
        for name, types in coming.items():
            port = declared_port(vertex.definition.inputs, name)
            if name in unknown:
                continue
            if port is not None and port.multi:
                known |= {f"{name}[{number}]": type_ for number, type_ in enumerate(types)}
            if len(set(types)) == 1:
                known[name] = types[0]
        return known

    def _from_spark(self, vertex: Vertex, given: Mapping[str, str]) -> Mapping[str, str]:
        """Answer what Spark has told of the outputs that are to be inferred; what it was not asked yet is noted."""
        definition = vertex.definition
        if self.inference is None or definition is None or vertex.name in self.doubtful:
            return {}
        ports = {name: declared_port(definition.outputs, name) for name in self.read[vertex.name] if name not in given}
        wanted = [name for name, port in ports.items() if port is not None and port.type == INFER]
        if not wanted or not fits(definition, vertex.call):
            return {}
        incoming: dict[str, list[Type | None]] = {}
        for data in self.inbound[vertex.name]:
            incoming.setdefault(data.target_port, []).append(self.outputs.get((data.source, data.source_port), ANY))
        handed = [port for name, port in self.graph.given.values() if name == vertex.name]
        try:
            question = question_of(definition, vertex.call.params, incoming, handed, self.structures)
            answer = self.inference.answer(question)
        except NotAsked as error:
            answer = Inferred(key="", why=str(error))
        if answer is None:
            return {}
        if answer.problem:
            self._refuse_columns(vertex, answer)
        found = {name: answer.outputs[name] for name in wanted if name in answer.outputs}
        self.inferred |= {f"{vertex.name}.{name}": type_ for name, type_ in found.items()}
        if answer.why:
            self.reasons |= {f"{vertex.name}.{name}": answer.why for name in wanted if name not in found}
        return found

    def _refuse_columns(self, vertex: Vertex, answer: Inferred) -> None:
        """Note what Spark has against the columns that come in, at the edges that bring them."""
        assert vertex.definition is not None
        self.doubtful.add(vertex.name)
        for data in self.inbound[vertex.name]:
            port = declared_port(vertex.definition.inputs, data.target_port)
            if port is None or port.type == "Any" or answer.port not in ("", data.target_port):
                continue
            edge = f"{data.source}.{data.source_port} -> {data.target}.{data.target_port}"
            got = self.texts[f"{data.source}.{data.source_port}"]
            clash = TypeClash(edge=edge, want=port.type, got=got, diff=(answer.problem,))
            message = f"{edge}: got {got}: {answer.problem}"
            self.findings.wrong("TYPE_MISMATCH", message, data.place, clash=clash)

    def _refuse(self, vertex: Vertex, error: WrongInput, known: Mapping[str, str]) -> None:
        edges = [data for data in self.inbound[vertex.name] if data.target_port == error.port]
        got = known.get(error.port, "nothing")
        for data in edges:
            edge = f"{data.source}.{data.source_port} -> {data.target}.{data.target_port}"
            clash = TypeClash(edge=edge, want=error.want, got=got, diff=(str(error),))
            wanted = "" if error.want == got else f"wanted {error.want}, "
            message = f"{edge}: {wanted}got {got}: {error}"
            self.findings.wrong("TYPE_MISMATCH", message, data.place, clash=clash)
        if not edges:
            message = f"{vertex.name}.{error.port}: wanted {error.want}, and nothing comes in: {error}"
            self.findings.wrong("TYPE_MISMATCH", message, vertex.call.place)
