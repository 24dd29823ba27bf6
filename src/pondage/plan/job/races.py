"""Racy joins: a component that several control edges can start sees the globals of those that fired first (C-03)."""

from __future__ import annotations

from pondage.define.job.job import Place
from pondage.kernel.control.index import Index
from pondage.kernel.control.shape import JobPlan
from pondage.plan.job.before import Before, Moment, moment_of
from pondage.plan.job.graph import Findings


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
