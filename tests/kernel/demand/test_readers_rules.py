"""Triggers that follow their readers: the machine against the rules as the text says them, over weeks of reads."""

import random

import pytest

from pondage.define.values.week import week_of
from pondage.kernel.demand import Pacing, PondKey
from pondage.kernel.demand.events import Follow, Read, Tide, Verb, Wave
from pondage.kernel.reading.profile import SURE, new_profile, note, share
from pondage.simulate.drive import Simulation, Workers
from pondage.simulate.host import Host
from pondage.simulate.virtual import VirtualHost
from tests.kernel.demand.graphs import Graph, random_graph
from tests.kernel.demand.rules import RulesHost
from tests.kernel.demand.rules_readers import Follower, clock

SECOND = 1_000_000
DAY = 86_400 * SECOND
MONDAY = 1_772_406_000 * SECOND
"""2026-03-02, midnight in Berlin: four weeks later the clocks go forward."""


@pytest.mark.parametrize("seed", range(10))
def test_a_trigger_wakes_and_rests_as_the_rules_written_down_say(seed: int) -> None:
    rng = random.Random(seed)
    graph = random_graph(rng, optional=0.2, windows=0, durations=(600 * SECOND, 1_700 * SECOND))
    key = rng.choice(graph.keys)
    actions = _actions(rng, key)
    days = rng.choice([11, 16])
    assert _played(graph, actions, VirtualHost(), days) == _played(graph, actions, RulesHost(), days)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_learned_lazily_is_what_counting_every_week_from_the_first_gives(seed: int) -> None:
    rng = random.Random(seed)
    week, born = week_of("Europe/Berlin"), MONDAY + rng.randrange(7 * DAY)
    counted = Follower("Europe/Berlin", SURE, born, None)
    learned = new_profile(week.place(born))
    busy = [rng.randrange(96) for _ in range(4)]
    at = born
    for _ in range(150):
        at += rng.randrange(DAY)
        place = week.place(at)
        if place.slot % 96 not in busy and rng.random() < 0.9:
            at = (at // DAY + 1) * DAY + rng.choice(busy) * 900 * SECOND
        counted.read(at)
        note(learned, week.place(at))
        for _ in range(3):
            later = at + rng.randrange(9 * DAY)
            assert share(learned, week.place(later)) == counted.share(*clock(later, "Europe/Berlin"))


def _actions(rng: random.Random, key: PondKey) -> list[tuple[int, Verb]]:
    tz = rng.choice(["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "UTC"])
    follow = Follow(tz=tz, is_resting=rng.random() < 0.3)
    given: Verb = rng.choice(
        [
            Tide(pond=key, limit=rng.choice([5_400, 14_400]) * SECOND, follow=follow),
            Tide(pond=key, limit=7_200 * SECOND, follow=follow),
            Wave(pond=key, pacing=Pacing.JUST_IN_TIME, follow=follow),
            Wave(pond=key, follow=follow),
        ]
    )
    found: list[tuple[int, Verb]] = [(MONDAY + rng.randrange(3 * DAY), given)]
    comes, stays, leaves = rng.uniform(0, 20), rng.uniform(0.5, 6), rng.randrange(4, 30)
    for day in range(leaves):
        if day % 7 < 5 or rng.random() < 0.2:
            at = comes + rng.gauss(0, 0.2)
            until = at + stays
            while at < until:
                moment = MONDAY + day * DAY + round(at * 3600) * SECOND
                found.append((moment, Read(pond=key, at=moment - rng.choice([0, 0, 0, 30]) * SECOND)))
                at += rng.uniform(0.3, 1.5)
    return sorted(found, key=lambda one: one[0])


def _played(graph: Graph, actions: list[tuple[int, Verb]], host: Host, days: int) -> dict[str, object]:
    host.deploy(graph.shapes, MONDAY)
    simulation = Simulation(host, Workers(takes=lambda each: graph.durations[each.pond, each.ripple]))
    for at, verb in actions:
        simulation.act(at, verb)
    simulation.run_until(MONDAY + days * DAY)
    return {"starts": simulation.trace.starts, "completed": simulation.trace.completed}
