"""Scopes and sub-jobs of one level (2.3): branches, joblet calls, joins, and the partition into sub-jobs."""

from __future__ import annotations

from collections import defaultdict

import msgspec

from pondage.kernel.control.shape import EdgeKind, PlanScope, PlanSub, ScopeKind, Virtual
from pondage.plan.job.graph import Control, Findings, Graph

_JOINED = (EdgeKind.OK, EdgeKind.ERROR, EdgeKind.IF, EdgeKind.ITERATOR_COMPLETE)
_ROOTS = (
    EdgeKind.PARALLELISE,
    EdgeKind.SUBJOB_OK,
    EdgeKind.SUBJOB_ERROR,
    EdgeKind.ITERATION_OK,
    EdgeKind.ITERATION_ERROR,
)


class Scope(msgspec.Struct, kw_only=True):
    """A scope while it is being found; `owner` is the fork, or the proxy behind a call."""

    kind: ScopeKind
    parent: int
    name: str = ""
    owner: str = ""


class Layout(msgspec.Struct, kw_only=True):
    """What was found: the scope of each vertex, the fork and branches of each join, and the sub-jobs."""

    order: list[str]
    scopes: list[Scope]
    scope_of: dict[str, int]
    joins: dict[str, tuple[str, list[int]]]
    subs: list[list[str]] = []
    sub_of: dict[str, int] = {}


def lay_out(graph: Graph, order: list[str], findings: Findings) -> Layout:
    """Find scopes and sub-jobs of a level."""
    layout = Layout(order=order, scopes=[Scope(kind=ScopeKind.JOB, parent=-1)], scope_of={}, joins={})
    inbound: dict[str, list[Control]] = defaultdict(list)
    producers: dict[str, list[str]] = defaultdict(list)
    for edge in graph.control:
        inbound[edge.target].append(edge)
    for data in graph.data:
        producers[data.target].append(data.source)
    for name in order:
        _find_scope(graph, layout, name, inbound[name], producers[name], findings)
    _find_subs(graph, layout, inbound)
    return layout


def _find_scope(
    graph: Graph, layout: Layout, name: str, inbound: list[Control], producers: list[str], findings: Findings
) -> None:
    vertex = graph.vertices[name]
    if vertex.virtual is Virtual.OUT and name in layout.scope_of:
        return
    position = _position(layout, name, inbound, producers, findings, graph)
    if vertex.virtual is not Virtual.IN:
        layout.scope_of[name] = position
        return
    end = f"{vertex.caller}.__proxy_out"
    layout.scopes.append(Scope(kind=ScopeKind.JOBLET, parent=position, name=vertex.caller, owner=end))
    layout.scope_of[name] = len(layout.scopes) - 1
    layout.scope_of[end] = position


def _position(
    layout: Layout, name: str, inbound: list[Control], producers: list[str], findings: Findings, graph: Graph
) -> int:
    forks = [edge.source for edge in inbound if edge.kind is EdgeKind.PARALLELISE]
    if forks:
        vertex = graph.vertices[name]
        shown = vertex.caller if vertex.virtual is Virtual.IN else name
        layout.scopes.append(Scope(kind=ScopeKind.BRANCH, parent=layout.scope_of[forks[0]], name=shown, owner=forks[0]))
        return len(layout.scopes) - 1
    branches = [edge.source for edge in inbound if edge.kind is EdgeKind.SYNCHRONISE]
    if branches:
        found = _common_fork(layout, branches)
        if found is not None:
            layout.joins[name] = found
            return layout.scope_of[found[0]]
        message = f"synchronise into {name}: {branches} are not branches of one fork"
        findings.wrong("AMBIGUOUS_JOIN", message, graph.vertices[name].call.place)
    scopes = {layout.scope_of[edge.source] for edge in inbound if edge.source}
    scopes |= {layout.scope_of[source] for source in producers}
    return _meeting(layout, scopes)


def chain(layout: Layout, scope: int) -> list[int]:
    """Give a scope and all around it, from the inside."""
    found = []
    while scope >= 0:
        found.append(scope)
        scope = layout.scopes[scope].parent
    return found


def _meeting(layout: Layout, scopes: set[int]) -> int:
    """Give the deepest scope when they lie in one another, else the lowest that holds them all."""
    if not scopes:
        return 0
    chains = [chain(layout, scope) for scope in scopes]
    deepest = max(chains, key=len)
    if all(one[0] in deepest for one in chains):
        return deepest[0]
    common = set(chains[0]).intersection(*chains[1:])
    return next(scope for scope in chains[0] if scope in common)


def _common_fork(layout: Layout, sources: list[str]) -> tuple[str, list[int]] | None:
    found: list[dict[str, int]] = []
    for source in sources:
        branches: dict[str, int] = {}
        for scope in chain(layout, layout.scope_of[source]):
            if layout.scopes[scope].kind is ScopeKind.BRANCH:
                branches.setdefault(layout.scopes[scope].owner, scope)
        found.append(branches)
    # A dictionary keeps the order in which scopes were met: the innermost fork comes first.
    for fork in found[0]:
        if all(fork in branches for branches in found):
            return fork, list(dict.fromkeys(branches[fork] for branches in found))
    return None


def _find_subs(graph: Graph, layout: Layout, inbound: dict[str, list[Control]]) -> None:
    above = {name: name for name in layout.order}

    def top(name: str) -> str:
        while above[name] != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    def join(source: str, target: str) -> None:
        vertex = graph.vertices[target]
        if vertex.virtual is Virtual.IN:
            target = f"{vertex.caller}.__proxy_out"
        if layout.scope_of[source] == layout.scope_of[target]:
            above[top(source)] = top(target)

    roots = {name for name, edges in inbound.items() if any(edge.kind in _ROOTS for edge in edges)}
    for edge in graph.control:
        if edge.kind in _JOINED and edge.target not in roots:
            join(edge.source, edge.target)
    for data in graph.data:
        if data.target not in roots and graph.vertices[data.target].virtual is not Virtual.OUT:
            join(data.source, data.target)
    for target, (fork, _) in layout.joins.items():
        join(fork, target)
    groups: dict[str, list[str]] = {}
    for name in layout.order:
        groups.setdefault(top(name), []).append(name)
    layout.subs = list(groups.values())
    layout.sub_of = {name: number for number, members in enumerate(layout.subs) for name in members}


def planned_scopes(layout: Layout, place: dict[str, int]) -> tuple[PlanScope, ...]:
    """Give the scopes with the sub-jobs that lie directly in them."""
    inside: dict[int, list[int]] = defaultdict(list)
    for number, members in enumerate(layout.subs):
        inside[layout.scope_of[members[0]]].append(number)
    return tuple(
        PlanScope(
            kind=scope.kind,
            parent=scope.parent,
            name=scope.name,
            owner=place[scope.owner] if scope.owner else -1,
            subs=tuple(inside[number]),
        )
        for number, scope in enumerate(layout.scopes)
    )


def planned_subs(graph: Graph, layout: Layout, place: dict[str, int], digests: dict[int, str]) -> tuple[PlanSub, ...]:
    """Give the sub-jobs in the order of their roots."""
    epilogues = _epilogues(graph, layout)
    found = []
    for number, members in enumerate(layout.subs):
        scope = layout.scopes[layout.scope_of[members[0]]]
        name, is_entry = _sub_name(graph, members)
        found.append(
            PlanSub(
                name=name,
                scope=layout.scope_of[members[0]],
                members=tuple(place[member] for member in members),
                parent=layout.sub_of[scope.owner] if scope.owner else -1,
                is_entry=is_entry,
                is_epilogue=number in epilogues,
                digest=digests[number],
            )
        )
    return tuple(found)


def _sub_name(graph: Graph, members: list[str]) -> tuple[str, bool]:
    first = graph.vertices[members[0]]
    if first.virtual is Virtual.NONE:
        return first.name, False
    if first.virtual is Virtual.OUT:
        return f"{first.caller}@caller", False
    plain = next((name for name in members if graph.vertices[name].virtual is Virtual.NONE), None)
    return (f"{first.caller}@entry", True) if plain is None else (plain, False)


def _epilogues(graph: Graph, layout: Layout) -> set[int]:
    """Give the sub-jobs that are handlers of an iteration, and whatever these lead to."""
    following: dict[int, set[int]] = defaultdict(set)
    found: list[int] = []
    for edge in graph.control:
        if not edge.source:
            found.append(layout.sub_of[edge.target])
        else:
            following[layout.sub_of[edge.source]].add(layout.sub_of[edge.target])
    for data in graph.data:
        following[layout.sub_of[data.source]].add(layout.sub_of[data.target])
    for name, vertex in graph.vertices.items():
        if vertex.virtual is Virtual.IN:
            following[layout.sub_of[name]].add(layout.sub_of[f"{vertex.caller}.__proxy_out"])
    epilogues: set[int] = set()
    while found:
        number = found.pop()
        if number not in epilogues:
            epilogues.add(number)
            found += following[number]
    return epilogues
