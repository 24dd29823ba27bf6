"""What waits for what: a sub-job that would wait for itself is a cycle too (R-105)."""

from __future__ import annotations

from collections import defaultdict

from pondage.kernel.control.shape import EdgeKind, JobPlan, ScopeKind, Virtual
from pondage.plan.job.graph import a_cycle

_Node = tuple[str, int]


def waits(plan: JobPlan) -> dict[_Node, dict[_Node, None]]:
    """Give the graph of start, settle, final (sub-job) and scope: each leads to what must wait for it."""
    found: dict[_Node, dict[_Node, None]] = defaultdict(dict)
    for at, component in enumerate(plan.components):
        found["start", at]["settle", at] = None
        found["settle", at]["final", component.sub] = None
    for number, sub in enumerate(plan.subs):
        found["final", number]["scope", sub.scope] = None
        if sub.parent >= 0 and plan.scopes[sub.scope].kind is ScopeKind.BRANCH:
            found["final", number]["final", sub.parent] = None
    owners = {}
    for number, scope in enumerate(plan.scopes):
        if scope.kind is ScopeKind.JOBLET:
            owners[scope.owner] = number
            found["scope", number]["settle", scope.owner] = None
    for edge in plan.control:
        if edge.kind in (EdgeKind.SUBJOB_OK, EdgeKind.SUBJOB_ERROR):
            before = ("scope", owners[edge.source]) if edge.is_whole else ("final", plan.components[edge.source].sub)
            found[before]["start", edge.target] = None
        elif edge.source >= 0 and edge.kind is not EdgeKind.SYNCHRONISE:
            found["settle", edge.source]["start", edge.target] = None
    for join in plan.joins:
        for branch in join.branches:
            found["scope", branch]["gate", join.target] = None
        found["gate", join.target]["start", join.target] = None
    for data in plan.data:
        waiting = "settle" if plan.components[data.target].virtual is Virtual.OUT else "start"
        found["start" if data.is_stream else "settle", data.source][waiting, data.target] = None
    return found


def self_waiting(plan: JobPlan) -> str | None:
    """Give the path of a sub-job that would wait for itself, or None."""
    cycle = a_cycle(waits(plan))
    if cycle is None:
        return None
    finals = [place for place, (kind, _) in enumerate(cycle[:-1]) if kind in ("final", "scope")]
    first = finals[0] if finals else 0
    turned = [*cycle[first:-1], *cycle[:first], cycle[first]]
    return "a sub-job would wait for itself: " + " -> ".join(_shown(plan, *node) for node in turned)


def _shown(plan: JobPlan, kind: str, number: int) -> str:
    if kind == "final":
        return f"final sub-job {plan.subs[number].name}"
    if kind == "scope":
        return f"final {plan.scopes[number].name or 'job'}"
    return f"{kind} {plan.components[number].name}"
