"""The graph between Ponds: catchments (what is connected) and cycles (what is refused)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush

from pondage.define.pond.definition import PondDefinition
from pondage.define.pond.resolve import found_cycle
from pondage.define.values.names import PondKey, pond_key


def key_of(pond: PondDefinition) -> PondKey:
    """Answer a Pond's key."""
    return pond_key(pond.name, pond.major)


def pond_cycle(world: Mapping[PondKey, PondDefinition]) -> list[str]:
    """Answer one cycle between Ponds as a path in the direction of the data, or []."""
    return found_cycle({key: [each for each in source_keys(pond) if each in world] for key, pond in world.items()})


def downstream(world: Mapping[PondKey, PondDefinition], start: Iterable[PondKey]) -> tuple[PondKey, ...]:
    """Answer these Ponds and everything that reads them, directly or not, each behind its Sources.

    Ponds that wait for each other are left out: a plan with a cycle is refused anyway.
    """
    reached = set(start)
    order = in_order(world)
    for key in order:
        if any(source in reached for source in source_keys(world[key])):
            reached.add(key)
    return tuple(key for key in order if key in reached)


def in_order(world: Mapping[PondKey, PondDefinition]) -> tuple[PondKey, ...]:
    """Answer the Ponds so that each stands behind its Sources, by name where that leaves a choice."""
    behind = {key: {each for each in source_keys(pond) if each in world} for key, pond in world.items()}
    sinks: dict[PondKey, list[PondKey]] = {}
    for key, sources in behind.items():
        for source in sources:
            sinks.setdefault(source, []).append(key)
    ready = [key for key, sources in behind.items() if not sources]
    heapify(ready)
    done: list[PondKey] = []
    while ready:
        key = heappop(ready)
        done.append(key)
        for sink in sinks.get(key, []):
            behind[sink].discard(key)
            if not behind[sink]:
                heappush(ready, sink)
    return tuple(done)


def source_keys(pond: PondDefinition) -> list[PondKey]:
    """Answer the Ponds that a Pond is bound to."""
    return [pond_key(source.pond, source.major) for source in pond.sources if source.major is not None]
