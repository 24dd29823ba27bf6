"""Random mixes of verbs, faults and windows over random graphs, each from one seed."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from pondage.kernel.demand import MemoryPonds, PondKey, PondShape
from pondage.kernel.demand.events import (
    Backfill,
    Calm,
    Clear,
    Deploy,
    Force,
    Kill,
    Pulse,
    Remove,
    Rollback,
    Sleep,
    Tap,
    Tide,
    Verb,
    Wake,
    Wave,
    Withdraw,
)
from pondage.simulate.drive import Execution, Simulation
from pondage.simulate.virtual import VirtualHost
from tests.kernel.demand.graphs import SECOND, Graph, Outcome, Play, random_calendar, random_graph, random_ripples
from tests.kernel.demand.invariants import Watcher

FAULTS_END = 30 * SECOND
TIMES = (0, 1000, 2000, 3500, 7000, 10000, 12500, 15000, 20000)
CHUNK_TIMES = (1000, 2000, 4000, 5500, 8000, 8500, 12500, 17000, 22000)
ASKING: tuple[Callable[[random.Random, PondKey], Verb], ...] = (
    lambda _, key: Tap(pond=key),
    lambda _, key: Pulse(pond=key),
    lambda _, key: Wave(pond=key),
    lambda rng, key: Tide(pond=key, limit=rng.choice([500, 3000, 8000])),
    lambda _, key: Calm(pond=key),
    lambda _, key: Clear(pond=key),
    lambda _, key: Wake(pond=key),
    lambda _, key: Force(pond=key),
)
CHUNKS: tuple[Callable[[random.Random, PondKey], Verb], ...] = (
    lambda rng, key: Backfill(pond=key, chunk=rng.choice("abcde")),
    lambda rng, key: Backfill(pond=key, chunk=rng.choice("abcde")),
    lambda rng, key: Backfill(pond=key, chunk=rng.choice("abcde")),
    lambda rng, key: Withdraw(pond=key, chunk=rng.choice("abcde"), stop=rng.random() < 0.5),
)
DROPPING: tuple[Callable[[random.Random, PondKey], Verb], ...] = (
    lambda _, key: Kill(pond=key),
    lambda _, key: Sleep(pond=key),
    lambda _, key: Sleep(pond=key, upstream=True),
)


@dataclass(kw_only=True)
class Mix:
    """What one seed does to one graph."""

    seed: int
    graph: Graph
    actions: list[tuple[int, Verb]]
    definitions: list[tuple[PondShape, str]]
    fault_share: float
    drops_demand: bool

    def start(self, order: int = 0, make_host: Callable[[MemoryPonds], VirtualHost] = VirtualHost) -> "Started":
        watcher = Watcher()
        play = Play(graph=self.graph, actions=self.actions, order=order, watch=watcher, make_host=make_host)
        for shape, reference in self.definitions:
            play.ponds.define(shape, reference)

        def fails(execution: Execution) -> bool:
            luck = random.Random(f"{self.seed}/{execution.pond}/{execution.ripple}/{execution.count}")
            return luck.random() < self.fault_share and simulation.now < FAULTS_END

        play.fails = fails
        simulation = play.start()
        return Started(simulation=simulation, play=play, watcher=watcher)


@dataclass(kw_only=True)
class Started:
    """A mix under way."""

    simulation: Simulation
    play: Play
    watcher: Watcher

    def outcome(self) -> Outcome:
        return Outcome(trace=self.simulation.trace, states=self.play.ponds.states)


def random_mix(seed: int, *, deploys: bool = False, backfills: bool = False) -> Mix:
    rng = random.Random(seed)
    drops_demand = rng.random() < 0.5
    verbs = ASKING + DROPPING if drops_demand else ASKING
    graph = random_graph(rng, optional=0.25, windows=0.3, retries=True, durations=(500, 1000, 1000, 2000, 3000))
    mix = Mix(
        seed=seed,
        graph=graph,
        actions=[],
        definitions=[],
        fault_share=rng.choice([0, 0.1, 0.3]),
        drops_demand=drops_demand or deploys,
    )
    removed: set[tuple[int, PondKey]] = set()
    for number in range(rng.randint(2, 9)):
        at, key, luck = rng.choice(TIMES), rng.choice(graph.keys), rng.random()
        verb: Verb = rng.choice(verbs)(rng, key)
        if deploys and luck < 0.35:
            mix.definitions.append((_reshaped(rng, graph, key), f"v{number}"))
            verb = Deploy(pond=key, definition=f"v{number}")
        elif deploys and luck < 0.45:
            verb = Remove(pond=key)
            removed.add((at, key))
        elif deploys and luck < 0.5:
            verb = Rollback(pond=key, run="7")
        mix.actions.append((at, verb))
    if backfills:
        for _ in range(rng.randint(3, 25)):
            mix.actions.append((rng.choice(CHUNK_TIMES), rng.choice(CHUNKS)(rng, rng.choice(graph.keys))))
    # A Pond removed and deployed again in one instant is a new one: its history would look like a fall to the watcher.
    mix.actions = [
        (at, verb) for at, verb in mix.actions if not (isinstance(verb, Deploy) and (at, verb.pond) in removed)
    ]
    return mix


def _reshaped(rng: random.Random, graph: Graph, key: PondKey) -> PondShape:
    before = graph.keys[: graph.keys.index(key)]
    sources = rng.sample(before, rng.randint(0, min(len(before), 3)))
    former = next(shape for shape in graph.shapes if shape.key == key)
    shape = PondShape.of(
        key,
        random_ripples(rng, 3),
        sources={source: rng.random() > 0.25 for source in sources},
        calendar=random_calendar(rng) if not sources and rng.random() < 0.2 else None,
        retries=former.retries,
    )
    for ripple in shape.ripples:
        graph.durations.setdefault((key, ripple), SECOND)
    return shape
