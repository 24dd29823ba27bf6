"""A tree while somebody builds it: the types that are known already, and what may be connected with one of its ports.

Nothing is refused here. What is wrong with a tree is the business of `planner`; this looks only at types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from pondage.define.job.component import Registry, Schema
from pondage.define.job.flow import CONST, Tree
from pondage.define.types.port import INFER, PANIC_PORT, STOP_PORT, Port, declared_port
from pondage.define.types.type_registry import BUILT_IN, TypeRegistry, structures_of
from pondage.define.types.types import TypeSyntax, parse_type
from pondage.define.types.unify import Bindings, Mismatch, unify
from pondage.plan.flow.graph import tree_graph
from pondage.plan.flow.params import check_node_params
from pondage.plan.flow.planner import check_sources, const_schema
from pondage.plan.job.graph import Data, Findings, Graph, Vertex, successors
from pondage.plan.job.types import PANIC_TABLE, GraphTypes, check_types

_STOPPER = Port(type="Stream<Any>", required=False)


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a connection may be made: both types, and why it may not be; `why` is empty when it may."""

    got: str
    want: str
    why: str = ""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """The type of every output that is known so far (`node.port`), and what may be connected with one port."""

    types: dict[str, str] = {}
    fits: dict[str, Fit] = {}


def draft(
    tree: Tree,
    registry: Registry,
    *,
    port: str = "",
    schemas: Mapping[str, Schema] | None = None,
    types: TypeRegistry = BUILT_IN,
    locations: Mapping[str, str] | None = None,
) -> Draft:
    """Answer what is known of a tree that need not be whole. `port` (`node.port`) is an output or an input.

    A node whose inputs or parameters are wrong gives what its program declares.
    """
    ignored = Findings()
    graph, doubtful = tree_graph(tree, registry, ignored)
    doubtful |= check_sources(tree, graph, ignored)
    doubtful |= check_node_params(tree, graph, ignored, types=types, locations=locations or {}, secrets={})
    # Types are told of outputs that somebody reads, and here somebody may want to read any of them.
    for name, vertex in graph.vertices.items():
        assert vertex.definition is not None
        graph.extracted += [(name, one) for one in vertex.definition.outputs if not one.endswith("*")]
    structures = structures_of(types)
    found = check_types(graph, ignored, {**(schemas or {}), CONST.name: const_schema}, structures, doubtful)
    known = {
        f"{name}.{one}": type_
        for (name, one), given in found.outputs.items()
        if (type_ := str(given or INFER)) != "Any"
    }
    return Draft(types=known, fits=dict(_Fitting(graph, found).of(port)) if port else {})


class _Fitting:
    def __init__(self, graph: Graph, types: GraphTypes) -> None:
        self.graph = graph
        self.types = types
        self.following = successors(graph)
        self.into: dict[str, list[Data]] = {name: [] for name in graph.vertices}
        for data in (*graph.data, *graph.stops):
            self.into[data.target].append(data)

    def of(self, port: str) -> Iterator[tuple[str, Fit]]:
        """Give every port at the other end, with the answer."""
        name, _, title = port.partition(".")
        vertex = self.graph.vertices.get(name)
        if vertex is None or vertex.definition is None:
            return
        if title == PANIC_PORT or declared_port(vertex.definition.outputs, title) is not None:
            above = {one for one in self.graph.vertices if name in self._reach(one)}
            for other in self.graph.vertices.values():
                for target in self._inputs(other):
                    is_circle = other.name in above and target != STOP_PORT
                    yield f"{other.name}.{target}", self._fit(name, title, other, target, is_circle=is_circle)
        else:
            below = self._reach(name) if title != STOP_PORT else set()
            for other in self.graph.vertices.values():
                assert other.definition is not None
                for source in (*other.definition.outputs, PANIC_PORT):
                    is_circle = other.name in below
                    yield f"{other.name}.{source}", self._fit(other.name, source, vertex, title, is_circle=is_circle)

    def _reach(self, name: str) -> set[str]:
        found, waiting = {name}, [name]
        while waiting:
            fresh = [one for one in self.following[waiting.pop()] if one not in found]
            found.update(fresh)
            waiting += fresh
        return found

    def _inputs(self, vertex: Vertex) -> list[str]:
        assert vertex.definition is not None
        given = [
            name for name, port in vertex.definition.inputs.items() if not port.job_only and not name.endswith("*")
        ]
        wild = [data.target_port for data in self.into[vertex.name]]
        return list(dict.fromkeys([*given, *wild, STOP_PORT]))

    def _fit(self, source: str, output: str, target: Vertex, title: str, *, is_circle: bool) -> Fit:
        assert target.definition is not None
        port = _STOPPER if title == STOP_PORT else declared_port(target.definition.inputs, title)
        if port is None:
            return Fit(got="", want="", why=f"{target.name} has no input {title!r}")
        got = PANIC_TABLE if output == PANIC_PORT else self.types.outputs.get((source, output))
        fit = Fit(got=str(got or INFER), want=port.type)
        into = self.into[target.name]
        same = [data for data in into if data.target_port == title]
        if any((data.source, data.source_port) == (source, output) for data in same):
            return msgspec.structs.replace(fit, why="they are connected already")
        if same and not port.multi and title != STOP_PORT:
            return msgspec.structs.replace(fit, why=f"{target.name}.{title} takes one source, and has one")
        if is_circle:
            return msgspec.structs.replace(fit, why="data would wait for itself")
        if got is None or port.type == INFER:
            return fit
        try:
            want = parse_type(port.type, target.definition.vars)
            unify(got, want, self._bound(target, into), accept=port.accept, structures=self.types.structures)
        except Mismatch as error:
            return msgspec.structs.replace(fit, why=str(error))
        except TypeSyntax as error:
            return msgspec.structs.replace(fit, why=f"the type {port.type!r}: {error}")
        return fit

    def _bound(self, vertex: Vertex, into: list[Data]) -> Bindings:
        """Answer what the other inputs of a node have made of its variables."""
        assert vertex.definition is not None
        bindings: Bindings = {}
        for data in into:
            port = declared_port(vertex.definition.inputs, data.target_port)
            got = self.types.outputs.get((data.source, data.source_port))
            if port is None or got is None or port.type == INFER:
                continue
            try:
                want = parse_type(port.type, vertex.definition.vars)
                unify(got, want, bindings, accept=port.accept, structures=self.types.structures)
            except (Mismatch, TypeSyntax):
                continue
        return bindings
