"""Random graphs of Ponds, and simulations of them, each from one seed."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from pondage.kernel.demand import Effect, MemoryPonds, Occurrences, PondKey, PondShape, PondState, Retries
from pondage.kernel.demand.events import Report, Verb
from pondage.simulate.drive import Delivery, Execution, Simulation, Trace, Workers, jittered
from pondage.simulate.virtual import VirtualHost

SECOND = 1000


@dataclass(kw_only=True)
class Graph:
    """Ponds with the durations of their Ripples."""

    shapes: list[PondShape]
    durations: dict[tuple[PondKey, str], int]

    @property
    def keys(self) -> list[PondKey]:
        return [shape.key for shape in self.shapes]

    @property
    def outlets(self) -> list[PondKey]:
        used = {source for shape in self.shapes for source, _ in shape.sources}
        return [key for key in self.keys if key not in used]


@dataclass(kw_only=True)
class Play:
    """A simulation to be run: what is done to a graph, and in which order the reports of one instant arrive."""

    graph: Graph
    actions: Sequence[tuple[int, Verb]] = ()
    until: int = 60 * SECOND
    fails: Callable[[Execution], bool] = lambda _: False
    jitter: float = 0.0
    order: int = 0
    delivery: Delivery = Delivery.TOGETHER
    watch: Callable[[MemoryPonds, int, Sequence[Effect]], None] | None = None
    ponds: MemoryPonds = field(default_factory=MemoryPonds)
    make_host: Callable[[MemoryPonds], VirtualHost] = VirtualHost

    def start(self) -> Simulation:
        shuffle = random.Random(self.order)
        shapes = list(self.graph.shapes)

        def arrange(reports: list[Report]) -> Sequence[Report]:
            if self.order:
                shuffle.shuffle(reports)
            return reports

        if self.order:
            shuffle.shuffle(shapes)
        host = self.make_host(self.ponds)
        host.deploy(shapes, 0)
        watch = self.watch
        simulation = Simulation(
            host,
            Workers(takes=jittered(self.graph.durations, self.jitter, 1), fails=self.fails),
            delivery=self.delivery,
            arrange=arrange,
            watch=(lambda now, effects: watch(self.ponds, now, effects)) if watch else lambda _now, _effects: None,
        )
        for at, verb in self.actions:
            simulation.act(at, verb)
        return simulation

    def run(self) -> "Outcome":
        simulation = self.start()
        simulation.run_until(self.until)
        return Outcome(trace=simulation.trace, states=self.ponds.states)


@dataclass(kw_only=True)
class Outcome:
    """How a simulation ended."""

    trace: Trace
    states: dict[PondKey, PondState]

    def runs(self) -> dict[PondKey, int]:
        return {key: self.trace.runs(key) for key in sorted(self.states)}

    def summary(self) -> dict[str, object]:
        """Everything that the order of reports inside an instant must not change."""
        return {
            "runs": self.runs(),
            "start_f": {key: state.start_f for key, state in sorted(self.states.items())},
            "end_f": {key: state.end_f for key, state in sorted(self.states.items())},
            "starts": {place: tuple(started) for place, started in sorted(self.trace.starts.items())},
            "completed": {key: tuple(completed) for key, completed in sorted(self.trace.completed.items())},
        }


def chain(count: int, durations: Iterable[int] | None = None) -> Graph:
    """A chain p0 > p1 > … of Ponds with one Ripple `r` each."""
    given = list(durations or [SECOND] * count)
    return pond_graph({f"p{i}": ({f"p{i - 1}": True} if i else {}, given[i]) for i in range(count)})


def pond_graph(ponds: dict[str, tuple[dict[str, bool], int]], retries: Retries | None = None) -> Graph:
    """Ponds with one Ripple `r` each, given as name: (Sources, duration)."""
    shapes = [PondShape.of(name, {"r": ()}, sources=sources, retries=retries) for name, (sources, _) in ponds.items()]
    return Graph(shapes=shapes, durations={(PondKey(name), "r"): duration for name, (_, duration) in ponds.items()})


def random_ripples(rng: random.Random, most: int = 5) -> dict[str, tuple[str, ...]]:
    """A random DAG of Ripples."""
    names = [f"r{i}" for i in range(rng.randint(1, most))]
    return {name: tuple(rng.sample(names[:place], rng.randint(0, min(place, 2)))) for place, name in enumerate(names)}


def random_graph(
    rng: random.Random,
    *,
    most: int = 6,
    ripples: int = 3,
    optional: float = 0.0,
    windows: float = 0.0,
    retries: bool = False,
    durations: Sequence[int] = (SECOND,),
) -> Graph:
    """A random DAG of Ponds; each Source is optional with that probability, each Inlet has windows with that one."""
    graph = Graph(shapes=[], durations={})
    names = [f"p{i}" for i in range(rng.randint(2, most))]
    for place, name in enumerate(names):
        sources = rng.sample(names[:place], rng.randint(0, min(place, 3)))
        calendar = random_calendar(rng) if not sources and rng.random() < windows else None
        shape = PondShape.of(
            name,
            random_ripples(rng, ripples),
            sources={source: rng.random() >= optional for source in sources},
            calendar=calendar,
            retries=Retries(immediately=rng.choice([0, 0, 1]), on_change=rng.choice([0, 0, 1, 2])) if retries else None,
        )
        graph.shapes.append(shape)
        for ripple in shape.ripples:
            graph.durations[shape.key, ripple] = rng.choice(durations)
    return graph


def random_calendar(rng: random.Random) -> Occurrences:
    length, gap = rng.choice([5, 10, 20]) * SECOND, rng.choice([0, 0, 3, 7]) * SECOND
    return Occurrences((start, start + length) for start in range(gap, 2000 * SECOND, length + gap))


def depth(shape: PondShape) -> int:
    """The number of Ripples on the longest path."""
    longest: dict[str, int] = {}
    for name in shape.order:
        longest[name] = 1 + max((longest[parent] for parent in shape.ripples[name]), default=0)
    return max(longest.values())
