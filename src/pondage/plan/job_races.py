"""Racy joins: two control edges from concurrent components lead to one (C-03)."""

from __future__ import annotations

from pondage.define.job import Place
from pondage.kernel.control.shape import EdgeKind, JobPlan
from pondage.plan.job_graph import Findings
from pondage.plan.job_waits import waits

MAX_LOOKS = 200_000


def warn_of_races(plan: JobPlan, findings: Findings) -> None:
    """Warn where the first of several edges decides which globals a component sees: states stay deterministic."""
    inbound: dict[int, list[int]] = {}
    for number, edge in enumerate(plan.control):
        if edge.kind is not EdgeKind.SYNCHRONISE and edge.source >= 0:
            inbound.setdefault(edge.target, []).append(number)
    following = None
    looks = 0
    for target, numbers in inbound.items():
        sources = sorted({plan.control[number].source for number in numbers})
        if len(sources) < 2 or plan.components[target].startable:
            continue
        following = following or waits(plan)
        reached: set[tuple[str, int]] = set()
        stack = [("settle", source) for source in sources]
        seen_from: dict[int, set[tuple[str, int]]] = {}
        for source in sources:
            found: set[tuple[str, int]] = set()
            stack = [("settle", source)]
            while stack and looks < MAX_LOOKS:
                node = stack.pop()
                looks += 1
                if node not in found:
                    found.add(node)
                    stack += [after for after in following.get(node, ()) if after[0] != "scope" or after[1] != 0]
            seen_from[source] = found
            reached |= found
        racy = [
            (one, other)
            for at, one in enumerate(sources)
            for other in sources[at + 1 :]
            if ("start", other) not in seen_from[one] and ("start", one) not in seen_from[other]
        ]
        if racy:
            names = " and ".join(plan.components[one].name for one in racy[0])
            message = f"{plan.components[target].name} starts at the first edge of {names}, which run concurrently"
            findings.doubtful("RACY_OR_JOIN", message, Place())
