"""Diamonds: which ancestors a Pond reaches by two ways, so that what it reads of both sides must agree.

Only the nearest such ancestors matter: when both sides agree on the Run of an ancestor, they agree on everything
above it that they reach through it. So each is a meeting point of ways that were apart until there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from heapq import heapify, heappop, heappush

from pondage.define.values.names import PondKey

MOST = 64
"""How many meeting points a Pond compares, the nearest first. It bounds what each Run has to remember."""


def meeting_points(
    pond: PondKey, sources: Mapping[PondKey, Sequence[PondKey]], depth: Mapping[PondKey, int]
) -> list[PondKey]:
    """Answer the ancestors at which two ways up from a Pond meet, nearest first, at most `MOST`.

    Ways are followed from the deepest Pond up. Where two meet, one way goes on; when one way is left, no two can meet
    any more, so a long ladder of diamonds costs each of them only its own rungs.
    """
    ways: dict[PondKey, set[PondKey]] = {source: {source} for source in sources[pond]}
    queue = [(-depth[source], source) for source in ways]
    heapify(queue)
    found: list[PondKey] = []
    while queue and len(found) < MOST and (len(ways) > 1 or len(next(iter(ways.values()))) > 1):
        _, deepest = heappop(queue)
        labels = ways.pop(deepest)
        if len(labels) > 1:
            found.append(deepest)
            labels = {deepest}
        for above in sources[deepest]:
            if above not in ways:
                ways[above] = set()
                heappush(queue, (-depth[above], above))
            ways[above].update(labels)
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
    ways = {ancestor: _Ways(ancestor, deployed, depth) for wanted in remembers.values() for ancestor in wanted}
    for key in reversed(order):
        for ancestor in remembers[key]:
            for above in deployed[key]:
                if above != ancestor and ways[ancestor].start_at(above):
                    remembers[above].add(ancestor)
    return {key: sorted(found) for key, found in remembers.items() if found}


def _depths(order: Sequence[PondKey], sources: Mapping[PondKey, Sequence[PondKey]]) -> dict[PondKey, int]:
    depth: dict[PondKey, int] = {}
    for key in order:
        depth[key] = 1 + max((depth[above] for above in sources[key]), default=0)
    return depth


class _Ways:
    """From which Ponds a way leads up to one ancestor; each Pond is looked at once."""

    def __init__(
        self, ancestor: PondKey, sources: Mapping[PondKey, Sequence[PondKey]], depth: Mapping[PondKey, int]
    ) -> None:
        self._floor = depth[ancestor]
        self._sources = sources
        self._depth = depth
        self._answers = {ancestor: True}

    def start_at(self, pond: PondKey) -> bool:
        """Answer whether a way leads from this Pond to the ancestor."""
        pending = [pond]
        while pending:
            key = pending[-1]
            unknown = [
                above for above in self._sources[key] if above not in self._answers and self._depth[above] > self._floor
            ]
            if key in self._answers or not unknown:
                self._answers.setdefault(key, any(self._answers.get(above, False) for above in self._sources[key]))
                pending.pop()
            else:
                pending.extend(unknown)
        return self._answers[pond]
