"""Diamonds: which ancestors a Pond reaches by two ways, so that what it reads of both sides must agree.

Only the nearest such ancestors matter: when both sides agree on the Run of an ancestor, they agree on everything
above it that they reach through it. So each is a meeting point of ways that were apart until there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter

from pondage.define.names import PondKey


def meeting_points(
    pond: PondKey, sources: Mapping[PondKey, Sequence[PondKey]], depth: Mapping[PondKey, int]
) -> list[PondKey]:
    """Answer the ancestors at which two ways up from a Pond meet, nearest first.

    Ways are followed from the deepest Pond up. Where two meet, one way goes on; when one way is left, no two can meet
    any more, so a long ladder of diamonds costs each of them only its own rungs.
    """
    ways: dict[PondKey, set[PondKey]] = {source: {source} for source in sources[pond]}
    found: list[PondKey] = []
    while len(ways) > 1 or (ways and len(next(iter(ways.values()))) > 1):
        deepest = max(ways, key=lambda key: (depth[key], key))
        labels = ways.pop(deepest)
        if len(labels) > 1:
            found.append(deepest)
            labels = {deepest}
        for above in sources[deepest]:
            ways.setdefault(above, set()).update(labels)
    return found


def tracked(sources: Mapping[PondKey, Sequence[PondKey]], coherent: Sequence[PondKey]) -> dict[PondKey, list[PondKey]]:
    """Answer, for each Pond, the ancestors whose Run it must remember because a Pond below compares them.

    `sources` names the Sources of every Pond; those that are not deployed have no entry and are passed over.
    """
    deployed = {key: [above for above in given if above in sources] for key, given in sources.items()}
    order = list(TopologicalSorter(deployed).static_order())
    depth = _depths(order, deployed)
    remembers: dict[PondKey, set[PondKey]] = {key: set() for key in order}
    for pond in coherent:
        if len(deployed[pond]) > 1:
            remembers[pond].update(meeting_points(pond, deployed, depth))
    # What a Pond must know of an ancestor it learns from its Sources on the way, so those must know it too.
    known: dict[PondKey, set[PondKey]] = {}
    for key in reversed(order):
        for ancestor in remembers[key]:
            for above in deployed[key]:
                if above != ancestor and _reaches(above, ancestor, deployed, depth, known):
                    remembers[above].add(ancestor)
    return {key: sorted(found) for key, found in remembers.items() if found}


def _depths(order: Sequence[PondKey], sources: Mapping[PondKey, Sequence[PondKey]]) -> dict[PondKey, int]:
    depth: dict[PondKey, int] = {}
    for key in order:
        depth[key] = 1 + max((depth[above] for above in sources[key]), default=0)
    return depth


def _reaches(
    start: PondKey,
    ancestor: PondKey,
    sources: Mapping[PondKey, Sequence[PondKey]],
    depth: Mapping[PondKey, int],
    known: dict[PondKey, set[PondKey]],
) -> bool:
    """Answer whether a way leads up from `start` to `ancestor`; Ponds above its depth cannot lie on one."""
    reached = known.setdefault(ancestor, {ancestor})
    seen: dict[PondKey, PondKey | None] = {start: None}
    pending = [start]
    while pending:
        key = pending.pop()
        if key in reached:
            on_way: PondKey | None = key
            while on_way is not None:
                reached.add(on_way)
                on_way = seen[on_way]
            return True
        for above in sources[key]:
            if depth[above] >= depth[ancestor] and above not in seen:
                seen[above] = key
                pending.append(above)
    return False
