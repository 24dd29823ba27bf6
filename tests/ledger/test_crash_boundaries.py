"""A death at any transaction boundary changes nothing: same starts, same completions, same states."""

from __future__ import annotations

import random

import pytest

from pondage.conform.demand_durable import LedgerHost
from pondage.kernel.demand.effects import RunFinished, StartRipple
from pondage.simulate.drive import Simulation, Workers, jittered
from pondage.simulate.host import Host
from pondage.simulate.virtual import VirtualHost
from tests.kernel.demand.graphs import SECOND, Graph, random_graph
from tests.kernel.demand.mixes import ASKING, DROPPING
from tests.ledger.mortal import MortalHost

UNTIL = 12 * SECOND


def summary(host: Host, graph: Graph, seed: int) -> dict[str, object]:
    """Play the same story on a host, and answer everything that it decided."""
    rng = random.Random(seed)
    host.deploy(graph.shapes, 0)
    decided: list[tuple[int, tuple[object, ...]]] = []

    def watch(now: int, effects: object) -> None:
        assert isinstance(effects, list | tuple)
        found = sorted(
            (type(each).__name__, each.pond, getattr(each, "ripple", ""), each.freshness)
            for each in effects
            if isinstance(each, StartRipple | RunFinished)
        )
        decided.append((now, tuple(found)))

    faults = {(key, ripple): rng.randint(1, 4) for (key, ripple) in graph.durations if rng.random() < 0.1}
    workers = Workers(
        takes=jittered(graph.durations, 0.0, seed),
        fails=lambda execution: faults.get((execution.pond, execution.ripple)) == execution.count,
    )
    simulation = Simulation(host, workers, watch=watch)
    for _ in range(6):
        make = rng.choice((*ASKING, *DROPPING))
        simulation.act(rng.randrange(0, UNTIL, SECOND // 2), make(rng, rng.choice(graph.keys)))
    simulation.run_until(UNTIL)
    states = {
        key: (state.start_f, state.end_f, state.condition, tuple(state.targets), state.has_pull)
        for key, state in sorted(host.states().items())
    }
    host.close()
    return {"decided": decided, "states": states}


def story(seed: int) -> Graph:
    return random_graph(
        random.Random(seed), most=4, ripples=3, optional=0.2, windows=0.2, retries=True, durations=(1000, 500, 1500)
    )


@pytest.mark.parametrize("seed", range(60))
def test_the_durable_host_decides_as_the_simulator_does(seed: int) -> None:
    graph = story(seed)
    assert summary(LedgerHost(), graph, seed) == summary(VirtualHost(), graph, seed)


@pytest.mark.parametrize("seed", range(100, 130))
def test_a_death_at_every_transaction_boundary_changes_nothing(seed: int) -> None:
    graph = story(seed)
    unharmed = MortalHost({})
    expected = summary(unharmed, graph, seed)
    boundaries = unharmed.mortal.seen
    rng = random.Random(seed)
    # Every boundary dies in one of these plays, on one side of the commit and on the other.
    for is_committed in (False, True):
        order = list(range(1, boundaries + 1))
        rng.shuffle(order)
        for start in range(0, len(order), 12):
            deaths = dict.fromkeys(order[start : start + 12], is_committed)
            host = MortalHost(deaths)
            assert summary(host, graph, seed) == expected, (seed, deaths)
            assert host.died > 0
