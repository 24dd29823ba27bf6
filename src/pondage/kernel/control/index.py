"""Look-ups over a plan, made once for each plan: who feeds whom, which edges leave, who waits for a sub-job."""

from __future__ import annotations

from collections import defaultdict

from pondage.kernel.control.shape import ControlEdge, DataEdge, EdgeKind, JobPlan, Join, ScopeKind, Virtual

_ORDER = {
    EdgeKind.ITERATOR_COMPLETE: 0,
    EdgeKind.OK: 1,
    EdgeKind.ERROR: 1,
    EdgeKind.IF: 2,
    EdgeKind.PARALLELISE: 3,
}
"""The firing order inside one settlement (R-016); the kinds that a component itself decides."""


class Index:
    """Everything the machine looks up in one plan."""

    def __init__(self, plan: JobPlan) -> None:
        self.plan = plan
        self.place = {component.name: at for at, component in enumerate(plan.components)}
        self.inbound: dict[int, list[int]] = defaultdict(list)
        self.own_edges: dict[int, list[int]] = defaultdict(list)
        self.sub_edges: dict[int, list[int]] = defaultdict(list)
        self.whole_edges: dict[int, list[int]] = defaultdict(list)
        self.iteration_edges: list[int] = []
        self.capturers: dict[int, list[int]] = defaultdict(list)
        """Sub-jobs whose verdict may hang on a component that is not their member."""
        self.scope_of_call: dict[int, int] = {}
        self.feeds: dict[int, list[DataEdge]] = defaultdict(list)
        self.fed_by: dict[tuple[int, str], list[DataEdge]] = defaultdict(list)
        self.joins_of: dict[int, list[int]] = defaultdict(list)
        self.join_at: dict[int, list[Join]] = defaultdict(list)
        self.branches: dict[int, list[int]] = defaultdict(list)
        """The branch scopes of each sub-job."""
        self.siblings: dict[str, list[str]] = defaultdict(list)
        self.handler: dict[int, int] = {}
        """Of an edge into a joblet call: the end of the call, which has its verdict and its sub-job."""
        self.group_of = {at: group for group in plan.groups for at in group}
        self._link(plan)
        self.bodies = {name: Index(body) for name, body in plan.bodies.items()}

    def _link(self, plan: JobPlan) -> None:
        for component in plan.components:
            self.siblings[component.caller].append(component.name)
        for number, scope in enumerate(plan.scopes):
            if scope.kind is ScopeKind.JOBLET:
                self.scope_of_call[scope.owner] = number
                self.handler[self.place[f"{scope.name}.__proxy_in"]] = scope.owner
        for number, edge in enumerate(plan.control):
            self.inbound[edge.target].append(number)
            self._link_source(number, edge)
        for found in self.own_edges.values():
            found.sort(key=lambda number: (_ORDER[plan.control[number].kind], plan.control[number].order, number))
        for data in plan.data:
            self.feeds[data.source].append(data)
            self.fed_by[data.target, data.target_port].append(data)
        for number, join in enumerate(plan.joins):
            self.join_at[join.target].append(join)
            for branch in join.branches:
                self.joins_of[branch].append(number)
        for number, found_scope in enumerate(plan.scopes):
            if found_scope.kind is ScopeKind.BRANCH:
                self.branches[plan.components[found_scope.owner].sub].append(number)
        self._link_capturers(plan)

    def _link_source(self, number: int, edge: ControlEdge) -> None:
        if edge.kind in _ORDER:
            self.own_edges[edge.source].append(number)
        elif edge.kind in (EdgeKind.SUBJOB_OK, EdgeKind.SUBJOB_ERROR):
            if edge.is_whole:
                self.whole_edges[edge.source].append(number)
            else:
                self.sub_edges[self.plan.components[edge.source].sub].append(number)
        elif edge.kind in (EdgeKind.ITERATION_OK, EdgeKind.ITERATION_ERROR):
            self.iteration_edges.append(number)

    def _link_capturers(self, plan: JobPlan) -> None:
        for edge in plan.control:
            if edge.kind not in (EdgeKind.ERROR, EdgeKind.SUBJOB_ERROR):
                continue
            handler = self.handler.get(edge.target, edge.target)
            source, target = plan.components[edge.source], plan.components[handler]
            waiting = source.sub if source.virtual is Virtual.OUT else plan.subs[source.sub].parent
            while waiting >= 0:
                if waiting != target.sub and waiting not in self.capturers[handler]:
                    self.capturers[handler].append(waiting)
                waiting = plan.subs[waiting].parent
        # A handler that failed is itself judged by its handlers: whoever waits for it waits for them too.
        for edge in sorted(plan.control, key=lambda edge: edge.source):
            if edge.kind is EdgeKind.ERROR or (edge.kind is EdgeKind.SUBJOB_ERROR and edge.is_whole):
                known = self.capturers[self.handler.get(edge.target, edge.target)]
                known.extend(sub for sub in self.capturers[edge.source] if sub not in known)
