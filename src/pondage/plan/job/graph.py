"""The flat graph of a job while it is planned: vertices, data and control links, and the problems that were found."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

import msgspec

from pondage.define.job.component import ComponentDefinition
from pondage.define.job.job import Call, DataLink, JobProblem, Place, TypeClash
from pondage.kernel.control.shape import EdgeKind, Virtual

_N = TypeVar("_N", bound=Hashable)


class Vertex(msgspec.Struct, kw_only=True, eq=False):
    """One component of the expanded graph. Proxies have no definition."""

    name: str
    call: Call
    definition: ComponentDefinition | None = None
    virtual: Virtual = Virtual.NONE
    caller: str = ""
    outside: dict[str, str] = {}
    """Inputs that are fed from outside the iteration, each with the iterator whose element it is (else empty)."""
    is_extracted: bool = False
    """Is an output of it read from outside its iteration, or by whoever runs the job?"""

    @property
    def is_iterator(self) -> bool:
        """Does it repeat a body?"""
        return self.definition is not None and self.definition.kind == "iterator"


class Data(DataLink, frozen=True, kw_only=True):
    """A data link of the flat graph."""

    gathers: str = ""


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """A control link of the flat graph; without a source it comes from the iteration itself."""

    kind: EdgeKind
    source: str
    target: str
    order: int = 0
    expression: str = ""
    is_whole: bool = False
    is_implicit: bool = False
    place: Place = Place()

    @property
    def label(self) -> str:
        """Give the edge's kind as it is shown."""
        return f"if{self.order}" if self.kind is EdgeKind.IF else self.kind.value


class Graph(msgspec.Struct, kw_only=True):
    """A level: vertices in the order of declaration."""

    vertices: dict[str, Vertex] = {}
    data: list[Data] = []
    control: list[Control] = []
    stops: list[Data] = []
    """Edges into `stop` ports: signals, outside of the order, of cycles and of sub-jobs."""
    extracted: list[tuple[str, str]] = []
    """Outputs that somebody outside reads."""
    given: dict[str, tuple[str, str]] = {}
    """What whoever runs the job hands in: the inputs of components, by the names under which they are exposed."""
    taken: dict[str, tuple[str, str]] = {}
    """What it gives to whoever runs it: outputs of components, by the names under which they are exposed."""
    _links: dict[tuple[str, str], list[Data]] | None = None

    def links(self) -> dict[tuple[str, str], list[Data]]:
        """Give the data links by their source and its port; asked for only when the graph is complete."""
        if self._links is None:
            self._links = {}
            for data in self.data:
                self._links.setdefault((data.source, data.source_port), []).append(data)
        return self._links


class Findings:
    """What is wrong, and what is doubtful; each thing once."""

    def __init__(self) -> None:
        self.problems: list[JobProblem] = []
        self._seen: set[JobProblem] = set()
        self.warnings: list[JobProblem] = []

    def wrong(
        self, code: str, message: str, place: Place, *, path: str | None = None, clash: TypeClash | None = None
    ) -> None:
        """Note a problem."""
        problem = JobProblem(code=code, message=message, path=path, place=place, clash=clash)
        if problem not in self._seen:
            self._seen.add(problem)
            self.problems.append(problem)

    def doubtful(self, code: str, message: str, place: Place) -> None:
        """Note a warning."""
        self.warnings.append(JobProblem(code=code, message=message, place=place))


def successors(graph: Graph) -> dict[str, list[str]]:
    """Give what directly follows each vertex along data and control; a call's end follows its beginning."""
    found: dict[str, dict[str, None]] = {name: {} for name in graph.vertices}
    for data in graph.data:
        found[data.source][data.target] = None
    for control in graph.control:
        if control.source:
            found[control.source][control.target] = None
    for name, vertex in graph.vertices.items():
        end = f"{vertex.caller}.__proxy_out"
        if (vertex.virtual is Virtual.IN and end in graph.vertices) or (
            vertex.virtual is Virtual.NONE and vertex.caller and end in graph.vertices
        ):
            found[name][end] = None
        elif vertex.virtual is Virtual.OUT:
            outer = f"{vertex.caller.rpartition('.__')[0]}.__proxy_out"
            if outer in graph.vertices:
                found[name][outer] = None
    return {name: list(following) for name, following in found.items()}


def topological(graph: Graph) -> list[str] | None:
    """Give the vertices in topological order, ties by declaration; None when there is a cycle."""
    following = successors(graph)
    rank = {name: number for number, name in enumerate(graph.vertices)}
    left: dict[str, int] = defaultdict(int)
    for targets in following.values():
        for target in targets:
            left[target] += 1
    ready = [(rank[name], name) for name in graph.vertices if not left[name]]
    heapq.heapify(ready)
    order = []
    while ready:
        _, name = heapq.heappop(ready)
        order.append(name)
        for target in following[name]:
            left[target] -= 1
            if not left[target]:
                heapq.heappush(ready, (rank[target], target))
    return order if len(order) == len(graph.vertices) else None


def a_cycle(following: Mapping[_N, Iterable[_N]]) -> list[_N] | None:
    """Give one cycle as a path whose first node is also its last, or None."""
    state: dict[_N, int] = {}
    for start in following:
        if start in state:
            continue
        path: list[_N] = []
        stack = [(start, iter(following.get(start, ())))]
        state[start] = 1
        path.append(start)
        while stack:
            node, rest = stack[-1]
            step = next(rest, None)
            if step is None:
                stack.pop()
                path.pop()
                state[node] = 2
            elif state.get(step) == 1:
                return [*path[path.index(step) :], step]
            elif step not in state:
                state[step] = 1
                path.append(step)
                stack.append((step, iter(following.get(step, ()))))
    return None
