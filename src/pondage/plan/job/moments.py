"""What must have happened before: sets of moments as numbers with one bit for each, in one pass over the plan.

It finds racy joins: a component that several control edges can start sees the globals of those that fired first (C-03).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from pondage.define.job.job import Place
from pondage.kernel.control.index import Index
from pondage.kernel.control.shape import ControlEdge, EdgeKind, JobPlan, ScopeKind, Virtual
from pondage.plan.job.graph import Findings
from pondage.plan.job.waits import waits

Moment = tuple[str, int]


def moment_of(plan: JobPlan, index: Index, edge: ControlEdge) -> Moment:
    """Give when an edge is decided: its source settles, a sub-job or a call is final, a gate opens."""
    if edge.kind in (EdgeKind.SUBJOB_OK, EdgeKind.SUBJOB_ERROR):
        if edge.is_whole:
            return "scope", index.scope_of_call[edge.source]
        return "final", plan.components[edge.source].sub
    if edge.kind is EdgeKind.SYNCHRONISE:
        return "gate", edge.target
    return "settle", edge.source


class Before:
    """For each moment, everything that has certainly happened when it comes (an edge that fires: its source ran)."""

    def __init__(self, plan: JobPlan, index: Index) -> None:
        self.plan = plan
        self.index = index
        self.number: dict[Moment, int] = {}
        self.started: dict[int, int] = {}
        self.settled: dict[int, int] = {}
        self.other: dict[Moment, int] = {}
        following = waits(plan)
        for moment in _ordered(following):
            self._look(moment)

    def is_before(self, first: Moment, second: Moment) -> bool:
        """Has `first` certainly happened when an edge of the moment `second` fires?"""
        return first == second or bool(self._fired(second) & self._bit(first))

    def _bit(self, moment: Moment) -> int:
        return 1 << self.number.setdefault(moment, len(self.number))

    def _fired(self, moment: Moment) -> int:
        if moment[0] == "settle":
            return self.started.get(moment[1], 0)
        return self.other.get(moment, 0)

    def _with(self, moment: Moment) -> int:
        return self._fired(moment) | self._bit(moment)

    def _look(self, moment: Moment) -> None:
        kind, at = moment
        if kind == "start":
            self._look_start(at)
        elif kind == "settle":
            if self.plan.components[at].virtual is Virtual.OUT:
                self.started[at] = self.settled[at] = self._with(("scope", self.index.scope_of_call[at]))
        elif kind == "final":
            self.other[moment] = self._of_sub(at)
        elif kind == "scope":
            subs = self.plan.scopes[at].subs
            self.other[moment] = _union(self._with(("final", sub)) for sub in subs)
        else:
            branches = [scope for join in self.index.join_at.get(at, ()) for scope in join.branches]
            self.other[moment] = _union(self._with(("scope", scope)) for scope in branches)

    def _look_start(self, at: int) -> None:
        component = self.plan.components[at]
        if component.virtual is Virtual.OUT:
            return
        edges = [self.plan.control[number] for number in self.index.inbound.get(at, ())]
        ways = [self._with(moment_of(self.plan, self.index, edge)) if edge.source >= 0 else 0 for edge in edges]
        fed = [data.source for port in component.ports for data in self.index.fed_by.get((at, port.name), ())]
        arrived = _union(self.settled.get(source, 0) | self._bit(("settle", source)) for source in fed)
        permitted = 0 if component.startable or not ways else _common(ways)
        self.started[at] = permitted | arrived
        # A component may also be skipped: by all its edges, or by a single producer.
        found = self.started[at]
        if ways and not component.startable:
            found &= _union(ways) | arrived
        for source in fed:
            found &= self.settled.get(source, 0) | self._bit(("settle", source))
        self.settled[at] = found

    def _of_sub(self, number: int) -> int:
        members = self.plan.subs[number].members
        found = _union(self.settled.get(member, 0) | self._bit(("settle", member)) for member in members)
        for scope in self.index.branches.get(number, ()):
            if self.plan.scopes[scope].kind is ScopeKind.BRANCH:
                found |= _union(self._with(("final", child)) for child in self.plan.scopes[scope].subs)
        return found


def _union(sets: Iterable[int]) -> int:
    found = 0
    for one in sets:
        found |= one
    return found


def _common(sets: list[int]) -> int:
    found = sets[0]
    for one in sets[1:]:
        found &= one
    return found


def _ordered(following: dict[Moment, dict[Moment, None]]) -> list[Moment]:
    left: dict[Moment, int] = defaultdict(int)
    moments = dict.fromkeys(following)
    for targets in following.values():
        for target in targets:
            left[target] += 1
            moments[target] = None
    ready = [moment for moment in moments if not left[moment]]
    for moment in ready:
        for target in following.get(moment, ()):
            left[target] -= 1
            if not left[target]:
                ready.append(target)
    return ready


def warn_of_races(plan: JobPlan, findings: Findings) -> None:
    """Warn where timing decides which globals a component sees; states stay deterministic."""
    index = Index(plan)
    before: Before | None = None
    for target, numbers in index.inbound.items():
        edges = [plan.control[number] for number in numbers]
        moments = {moment_of(plan, index, edge): edge for edge in edges if edge.source >= 0}
        if len(moments) < 2 or plan.components[target].startable:
            continue
        before = before or Before(plan, index)
        producers = [("settle", data.source) for port in plan.components[target].ports
                     for data in index.fed_by.get((target, port.name), ())]  # fmt: skip
        racy = _first_race(list(moments), producers, before)
        if racy is not None:
            names = " and ".join(plan.components[moments[one].source].name for one in racy)
            message = f"{plan.components[target].name} starts at the first edge of {names}, which run concurrently"
            findings.doubtful("RACY_OR_JOIN", message, Place())


def _first_race(moments: list[Moment], producers: list[Moment], before: Before) -> tuple[Moment, Moment] | None:
    for at, one in enumerate(moments):
        for other in moments[at + 1 :]:
            for first, second in ((one, other), (other, one)):
                # In order with an execution between them, and all data is there by then: it has started when the
                # second edge fires. The end of a sub-job or a gate may come in the very step of the first edge.
                is_later = second[0] == "settle" and before.is_before(first, second)
                if is_later and all(before.is_before(data, first) for data in producers):
                    break
            else:
                return one, other
    return None
