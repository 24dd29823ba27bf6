"""Tides and paced Waves: a target is as fresh as its bottleneck allows, and nothing upstream runs for nobody."""

import random
import statistics
from collections.abc import Sequence

import pytest

from pondage.kernel.demand import Effect, MemoryPonds, Pacing, PondKey
from pondage.kernel.demand.effects import Timer
from pondage.kernel.demand.events import Calm, Event, Kill, Tick, Tide, Verb, Wave
from tests.kernel.demand.driving import Driver
from tests.kernel.demand.graphs import SECOND, Graph, Outcome, Play, chain, pond_graph, random_graph

UNTIL, WARM_UP = 1000 * SECOND, 200 * SECOND


def mean_age(graph: Graph, verb: Verb, jitter: float) -> float:
    """The mean age in seconds of what the target has published, after the warm-up."""
    points = [(WARM_UP, 0)]

    def watch(ponds: MemoryPonds, now: int, _effects: Sequence[Effect]) -> None:
        state = ponds.states[verb.pond]
        points.append((now, state.end_f - state.end_delay))

    Play(graph=graph, actions=[(0, verb)], jitter=jitter, until=UNTIL, watch=watch).run()
    points.append((UNTIL, 0))
    before = max((point for point in points[1:] if point[0] <= WARM_UP), default=points[0])
    total, last, freshness = 0.0, WARM_UP, before[1]
    for now, newer in points[1:]:
        if now > WARM_UP:
            total += (now - last) * ((last + now) / 2 - freshness)
            last = now
            freshness = newer
    return total / (UNTIL - WARM_UP) / SECOND


ROWS = [
    ([1, 1, 1, 5, 1, 1], 1.96, 1.00, 1.04, 1.11),
    ([1, 1, 3], 1.62, 1.00, 1.05, 1.12),
    ([3, 1, 1], 1.00, 1.00, 1.01, 1.02),
    ([1, 1, 10], 2.06, 1.00, 1.05, 1.06),
    ([4, 4, 5], 1.13, 1.00, 1.04, 1.09),
]


@pytest.mark.parametrize(("seconds", "eager", "paced", "paced_10", "paced_30"), ROWS, ids=lambda row: str(row))
def test_a_just_in_time_wave_gives_the_age_of_the_paced_push_table(
    seconds: list[int], eager: float, paced: float, paced_10: float, paced_30: float
) -> None:
    graph = chain(len(seconds), [second * SECOND for second in seconds])
    target = graph.keys[-1]
    ideal = sum(seconds) + max(seconds) / 2
    just_in_time = Wave(pond=target, pacing=Pacing.JUST_IN_TIME)
    assert mean_age(graph, Wave(pond=target), 0) / ideal == pytest.approx(eager, abs=0.01)
    assert mean_age(graph, just_in_time, 0) / ideal == pytest.approx(paced, abs=0.01)
    assert mean_age(graph, just_in_time, 0.1) / ideal <= paced_10 + 0.02
    assert mean_age(graph, just_in_time, 0.3) / ideal <= paced_30 + 0.03


def ancestors(graph: Graph, target: PondKey) -> set[PondKey]:
    sources = {shape.key: [source for source, _ in shape.sources] for shape in graph.shapes}
    found: set[PondKey] = set()
    pending = [target]
    while pending:
        for source in sources[pending.pop()]:
            if source not in found:
                found.add(source)
                pending.append(source)
    return found


def tide_outcomes(jitter: float) -> tuple[list[int], list[float]]:
    """Surplus Runs of any ancestor over the Tide's Pond, and its rate over the bottleneck's, for many graphs."""
    surplus, rates = [], []
    for seed in range(40):
        rng = random.Random(seed)
        graph = random_graph(rng, ripples=1, durations=(1000, 2000, 3000, 5000))
        target = graph.keys[-1]

        def watch(ponds: MemoryPonds, _now: int, _effects: object, target: PondKey = target) -> None:
            assert len(ponds.states[target].targets) <= 6, "targets pile up"

        limit = rng.choice([100, 500])
        actions: list[tuple[int, Verb]] = [(0, Tide(pond=target, limit=limit)), (300 * SECOND, Calm(pond=target))]
        outcome = Play(graph=graph, actions=actions, jitter=jitter, until=400 * SECOND, watch=watch).run()
        path = ancestors(graph, target)
        bottleneck = max(graph.durations[key, "r0"] for key in path | {target})
        surplus.append(max((outcome.trace.runs(key) - outcome.trace.runs(target) for key in path), default=0))
        rates.append(_rate(outcome, target) * bottleneck)
    return surplus, rates


def _rate(outcome: Outcome, key: PondKey) -> float:
    late = [at for at, _ in outcome.trace.completed[key] if at >= 100 * SECOND]
    return (len(late) - 1) / (late[-1] - late[0])


def test_a_tide_below_the_bottleneck_runs_at_the_bottlenecks_rate_without_surplus() -> None:
    surplus, rates = tide_outcomes(0)
    assert max(surplus) <= 1
    assert min(rates) == pytest.approx(1.0, abs=0.01)


def test_under_jitter_a_tide_stays_near_the_bottlenecks_rate_with_little_surplus() -> None:
    surplus, rates = tide_outcomes(0.3)
    assert max(surplus) <= 4
    assert statistics.median(rates) >= 0.90


def test_the_smallest_of_several_tides_rules_and_each_is_removed_by_its_name() -> None:
    driver = Driver(*chain(1).shapes)
    p = PondKey("p0")
    driver.give(Tide(pond=p, limit=60000, name="slow"), Tide(pond=p, limit=5000, name="fast"))
    assert [effect.at for effect in driver.effects if isinstance(effect, Timer)] == [5000]
    driver.done("p0.r", at=1000)
    driver.give(Calm(pond=p, name="fast"), at=2000)
    assert [effect.at for effect in driver.effects if isinstance(effect, Timer)] == [60000]
    driver.give(Calm(pond=p, name="unknown"), at=3000)
    assert driver.state("p0").tides == {"slow": 60000}
    driver.give(Wave(pond=p), Calm(pond=p, name="wave"), at=4000)
    assert driver.state("p0").wave is None
    driver.give(Calm(pond=p), at=4500)
    assert driver.state("p0").tides == {}


def test_kill_removes_standing_triggers_and_a_tide_given_meanwhile_waits_for_clear() -> None:
    driver = Driver(*chain(1).shapes)
    p = PondKey("p0")
    events: list[Event] = [Tide(pond=p, limit=1000), Wave(pond=p)]
    driver.give(*events)
    driver.give(Kill(pond=p), at=500)
    assert (driver.state("p0").tides, driver.state("p0").wave) == ({}, None)
    driver.give(Tide(pond=p, limit=1000), at=5000)
    assert driver.started() == []


def test_a_reused_completion_never_enters_the_pace() -> None:
    graph = pond_graph({"p": ({}, SECOND), "q": ({"p": True}, SECOND)})
    driver = Driver(*graph.shapes)
    driver.give(Tide(pond=PondKey("q"), limit=100))
    driver.done("p.r", at=1000)
    driver.done("q.r", at=2000)
    assert driver.state("q").ripples["r"].estimate == 1000
    driver.done("q.r", at=2000, reused=True)
    assert driver.state("q").ripples["r"].estimate == 1000
    driver.done("p.r", at=3000, reused=True)
    assert driver.state("p").ripples["r"].estimate == 1000


def test_the_estimate_is_the_first_duration_and_then_a_moving_average() -> None:
    driver = Driver(*chain(1).shapes)
    driver.give(Tide(pond=PondKey("p0"), limit=1))
    driver.done("p0.r", at=1000)
    assert driver.state("p0").ripples["r"].estimate == 1000
    driver.done("p0.r", at=3000)
    assert driver.state("p0").ripples["r"].estimate == (7 * 1000 + 3 * 2000) // 10


def test_targets_do_not_pile_up_behind_a_source_that_stalls() -> None:
    driver = Driver(*chain(2).shapes)
    driver.give(Tide(pond=PondKey("p1"), limit=500))
    driver.done("p0.r", at=1000)
    driver.give(driver.report("p0.r"), driver.report("p1.r"), at=2000)
    for at in range(2100, 60000, 100):
        driver.give(Tick(pond=PondKey("p1")), at=at)
    state = driver.state("p1")
    assert sum(target > state.start_f for target in state.targets) == 2  # ceil(lead 1 s / period 1 s) + 1
