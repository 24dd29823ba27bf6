"""Meeting points, compared with a search over all paths."""

from __future__ import annotations

import random

from pondage.define.values.names import PondKey
from pondage.kernel.agreement.diamonds import MOST, meeting_points, tracked


def depths(sources: dict[PondKey, list[PondKey]]) -> dict[PondKey, int]:
    found: dict[PondKey, int] = {}
    for key in sources:  # random graphs name Sources before Sinks
        found[key] = 1 + max((found[above] for above in sources[key]), default=0)
    return found


def paths(pond: PondKey, sources: dict[PondKey, list[PondKey]]) -> list[list[PondKey]]:
    complete, pending = [], [[pond]]
    while pending:
        path = pending.pop()
        complete.append(path)
        pending.extend([*path, above] for above in sources[path[-1]])
    return complete


def agrees_everywhere(pond: PondKey, sources: dict[PondKey, list[PondKey]], compared: list[PondKey]) -> bool:
    """If the ways agree on the compared ancestors, do they agree on all?

    A Run fixes everything above it. So what a way reads of an ancestor is fixed by the Source it started with, or by
    the last compared ancestor it passed; two ways agree when the same Run fixes both.
    """
    fixed_by: dict[PondKey, set[PondKey]] = {}
    for path in paths(pond, sources):
        if len(path) > 1:
            last = [path[1], *(key for key in path[1:] if key in compared)][-1]
            fixed_by.setdefault(path[-1], set()).add(last)
    return all(len(found) == 1 for found in fixed_by.values())


def graph(seed: int) -> dict[PondKey, list[PondKey]]:
    chance = random.Random(seed)
    keys = [PondKey(f"p{n}") for n in range(chance.randint(2, 9))]
    return {key: chance.sample(keys[:at], min(at, chance.randint(0, 3))) for at, key in enumerate(keys)}


def test_ways_that_agree_on_the_meeting_points_agree_on_every_ancestor() -> None:
    for seed in range(1_500):
        sources = graph(seed)
        for pond in sources:
            found = meeting_points(pond, sources, depths(sources))
            assert agrees_everywhere(pond, sources, found), (seed, pond, sources, found)


def test_no_meeting_point_could_be_left_out() -> None:
    for seed in range(300):
        sources = graph(seed)
        for pond in sources:
            found = meeting_points(pond, sources, depths(sources))
            for one in found:
                rest = [key for key in found if key != one]
                assert not agrees_everywhere(pond, sources, rest), (seed, pond, one)


def test_a_long_ladder_of_diamonds_remembers_only_its_own_rungs() -> None:
    sources: dict[PondKey, list[PondKey]] = {PondKey("j0"): []}
    for n in range(1, 300):
        for side in "ab":
            sources[PondKey(f"{side}{n}")] = [PondKey(f"j{n - 1}")]
        sources[PondKey(f"j{n}")] = [PondKey(f"a{n}"), PondKey(f"b{n}")]
    found = tracked(sources, list(sources))
    assert all(len(ancestors) == 1 for ancestors in found.values())
    assert found[PondKey("j250")] == ["j249"]


def test_a_source_that_is_not_deployed_is_passed_over() -> None:
    assert tracked({PondKey("x"): [PondKey("gone"), PondKey("lost")]}, [PondKey("x")]) == {}


def test_what_a_pond_remembers_is_bounded_in_a_dense_graph() -> None:
    rng = random.Random(1)
    sources: dict[PondKey, list[PondKey]] = {}
    for n in range(1_000):
        layer = n // 10
        above = rng.sample(range((layer - 1) * 10, layer * 10), 2) if layer else []
        sources[PondKey(f"p{n}")] = [PondKey(f"p{one}") for one in above]
    found = tracked(sources, list(sources))
    assert max(map(len, found.values())) < 2 * MOST
