"""Ponds that read only what agrees: no Run of theirs ever reads a splice, and what was asked is done in the end.

What a Run stands on is found here by walking the pins of the Runs, not by what the choosing of pins remembers.
"""

import random
from collections.abc import Sequence

import pytest

from pondage.conform.demand_durable import LedgerHost
from pondage.kernel.demand import Effect, MemoryPonds, Occurrences, PondKey, PondShape, decode_state, encode_state
from pondage.kernel.demand.effects import RunFinished
from pondage.kernel.demand.events import Clear, Force, Kill, Pulse, Sleep, Tap, Verb, Wake, Wave
from pondage.kernel.demand.gates import Disagree, NoDemand, WaitsForSource
from pondage.kernel.demand.shape import Retries
from pondage.simulate.drive import Execution, Simulation, Workers, jittered
from pondage.simulate.host import Host
from pondage.simulate.virtual import VirtualHost
from tests.kernel.demand.graphs import SECOND, random_ripples

FAULTS_END, ASKED_LAST, UNTIL = 40 * SECOND, 60 * SECOND, 400 * SECOND
A, B, C, X = (PondKey(name) for name in "abcx")


def diamond(**more: bool) -> list[PondShape]:
    """`x` reads `b` and `c`, which both read `a`."""
    return [
        PondShape.of("a", {"r": ()}),
        PondShape.of("b", {"r": ()}, sources={"a": True}),
        PondShape.of("c", {"r": ()}, sources={"a": True}),
        PondShape.of("x", {"r": ()}, sources={"b": True, "c": more.get("c", True)}, must_agree=True),
    ]


class Play:
    """A host in virtual time, and what each completed Run of it stands on."""

    def __init__(self, shapes: Sequence[PondShape], *, seed: int = 0, fails: bool = False) -> None:
        self.ponds = MemoryPonds()
        self.host = VirtualHost(self.ponds)
        self.finished: list[tuple[PondKey, int]] = []
        self.simulation = simulation(self.host, shapes, seed=seed, fails=fails, watch=self._watch)

    def _watch(self, _now: int, effects: Sequence[Effect]) -> None:
        self.finished += [(each.pond, each.number) for each in effects if isinstance(each, RunFinished)]
        for key, state in self.ponds.states.items():
            assert not state.is_comparing, "the host answers in the same transaction"
            assert decode_state(encode_state(state)) == state, key

    def stands_on(self, pond: PondKey, number: int) -> dict[PondKey, set[int]]:
        """Every Run of each ancestor that a Run stands on."""
        assert self.host.runs is not None
        found: dict[PondKey, set[int]] = {}
        pending = [(pond, number)]
        while pending:
            for source, run in self.host.runs.pins[pending.pop()].items():
                if run not in found.setdefault(source, set()):
                    found[source].add(run)
                    pending.append((source, run))
        return found

    def splices(self) -> list[tuple[PondKey, int]]:
        """The completed Runs of Ponds that must agree, and do not."""
        return [
            (pond, number)
            for pond, number in self.finished
            if self.ponds.shapes[pond].must_agree
            and any(len(self.stands_on(pond, number)[key]) > 1 for key in self.met_twice(pond, number))
        ]

    def met_twice(self, pond: PondKey, number: int) -> list[PondKey]:
        """The ancestors that more than one Source of a Run leads to: those that the Sources have in common."""
        assert self.host.runs is not None
        pins = self.host.runs.pins[pond, number]
        led = [{source, *self.stands_on(source, run)} for source, run in pins.items()]
        return [key for key in self.stands_on(pond, number) if sum(key in each for each in led) > 1]


APART = 120 * SECOND


def apart(play: Play, then: Verb) -> None:
    """Have `b` read so many Runs of `a` that the only one that `c` has read is not kept any more; then do something."""
    play.simulation.act(0, Pulse(pond=C))
    for at in range(0, APART, 20 * SECOND):
        play.simulation.act(at, Pulse(pond=B))
    play.simulation.act(APART, then)


def simulation(
    host: Host, shapes: Sequence[PondShape], *, seed: int, fails: bool = False, **more: object
) -> Simulation:
    host.deploy(shapes, 0)
    rng = random.Random(seed)
    durations = {(shape.key, ripple): rng.choice([1, 1, 2, 5]) * SECOND for shape in shapes for ripple in shape.ripples}

    def does_fail(execution: Execution) -> bool:
        luck = random.Random(f"{seed}/{execution.pond}/{execution.ripple}/{execution.count}")
        return fails and played.now < FAULTS_END and luck.random() < 0.2

    workers = Workers(takes=jittered(durations, 0.3, seed), fails=does_fail)
    played = Simulation(host, workers, **more)  # type: ignore[arg-type]
    return played


def random_shapes(rng: random.Random, *, optional: float) -> list[PondShape]:
    """A graph with many diamonds; some of the Ponds that close one must agree."""
    shapes: list[PondShape] = []
    names = [f"p{place}" for place in range(rng.randint(4, 8))]
    for place, name in enumerate(names):
        near = names[max(0, place - 4) : place]
        sources = rng.sample(near, min(len(near), rng.choice([1, 2, 2, 3])))
        length = rng.choice([5, 10]) * SECOND
        calendar = Occurrences((start, start + length) for start in range(0, 3 * UNTIL, length))
        shapes.append(
            PondShape.of(
                name,
                random_ripples(rng, 2),
                sources={source: rng.random() >= optional for source in sources},
                calendar=calendar if not sources and rng.random() < 0.3 else None,
                retries=Retries(immediately=rng.choice([0, 1]), on_change=rng.choice([0, 1])),
                must_agree=rng.random() < 0.7,
            )
        )
    return shapes


def random_actions(rng: random.Random, keys: Sequence[PondKey], *, count: int) -> list[tuple[int, Verb]]:
    """Demand that ends, verbs, and in the end everything cleared and asked for once."""
    asking = [Tap, Pulse, Pulse, Pulse, Force, Wake, Clear, Kill, Sleep]
    found: list[tuple[int, Verb]] = [
        (rng.randrange(0, FAULTS_END, 250), rng.choice(asking)(pond=rng.choice(keys))) for _ in range(count)
    ]
    found += [(ASKED_LAST - SECOND, Clear(pond=key)) for key in keys]
    return sorted(found, key=lambda action: action[0]) + [(ASKED_LAST, Pulse(pond=key)) for key in keys]


@pytest.mark.parametrize("chunk", range(4))
def test_no_run_reads_a_splice_and_everything_that_was_asked_for_is_done_in_the_end(chunk: int) -> None:
    waited = 0
    for seed in range(chunk * 60, (chunk + 1) * 60):
        rng = random.Random(seed)
        optional = rng.choice([0.0, 0.0, 0.3])
        shapes = random_shapes(rng, optional=optional)
        play = Play(shapes, seed=seed, fails=True)
        for at, verb in random_actions(rng, [shape.key for shape in shapes], count=14):
            play.simulation.act(at, verb)
        while play.simulation.now < UNTIL:
            play.simulation.run_until(play.simulation.now + SECOND)
            waited += any(state.older for state in play.ponds.states.values())
        if play.host.runs is not None:
            assert play.splices() == [], seed
        for key, state in play.ponds.states.items():
            # What reads an optional Source does not wait for it, so those may never meet by themselves.
            if not optional:
                assert state.end_f >= ASKED_LAST, (seed, key, play.host.explain(key, play.simulation.now))
                assert not state.older
        assert all(not state.busy for state in play.ponds.states.values()), f"{seed}: it never comes to rest"
    assert waited > 0, "in none of these graphs did any Pond wait"


@pytest.mark.parametrize("seed", range(12))
def test_the_ledger_waits_as_the_simulator_does(seed: int) -> None:
    rng = random.Random(1_000 + seed)
    shapes = random_shapes(rng, optional=0.2)
    actions = random_actions(rng, [shape.key for shape in shapes], count=10)
    traces = []
    for host in (VirtualHost(), LedgerHost()):
        played = simulation(host, shapes, seed=seed, fails=True)
        for at, verb in actions:
            played.act(at, verb)
        played.run_until(2 * ASKED_LAST)
        states = {key: (each.end_f, each.number, sorted(each.older)) for key, each in host.states().items()}
        gates = {key: host.explain(key, played.now) for key in sorted(host.states())}
        traces.append((played.trace.starts, played.trace.completed, states, gates))
        host.close()
    assert traces[0] == traces[1]


def test_it_waits_says_so_and_has_the_branch_that_is_behind_catch_up() -> None:
    play = Play(diamond())
    apart(play, Tap(pond=X))
    play.simulation.run_until(APART)
    state = play.ponds.states[X]
    assert state.older == [C], "only b has read what is kept of a"
    assert play.ponds.states[C].active, "it was asked to catch up"
    assert Disagree([C]) in play.host.explain(X, APART)
    play.simulation.run_until(2 * APART)
    assert play.splices() == []
    assert play.ponds.states[X].end_f == 100 * SECOND, "nobody above was asked for anything newer"


def test_a_wake_asks_nothing_of_sources_that_disagree_and_is_not_held() -> None:
    play = Play(diamond())
    apart(play, Wake(pond=X))
    play.simulation.run_until(2 * APART)
    assert play.ponds.states[X].end_f == -1
    assert play.ponds.states[C].number == 1
    assert play.host.explain(X, 2 * APART) == [NoDemand()]


def test_a_force_over_what_disagrees_is_held_until_it_agrees() -> None:
    play = Play(diamond())
    apart(play, Force(pond=X))
    play.simulation.run_until(2 * APART)
    assert play.ponds.states[X].number == 1
    assert play.splices() == []


def test_what_is_held_is_asked_for_again_when_a_branch_that_failed_is_cleared() -> None:
    play = Play(diamond())
    apart(play, Tap(pond=X))
    play.simulation.act(APART + 1, Kill(pond=C))
    play.simulation.act(APART + 20 * SECOND, Clear(pond=C))
    play.simulation.run_until(2 * APART)
    assert play.splices() == []
    assert play.ponds.states[X].end_f == 100 * SECOND


def test_a_pond_with_a_wave_never_reads_a_splice_beside_others_with_waves_of_their_own() -> None:
    play = Play(diamond(), seed=3)
    play.simulation.act(0, Wave(pond=X))
    play.simulation.act(7 * SECOND, Wave(pond=B))
    play.simulation.run_until(300 * SECOND)
    assert play.splices() == []
    assert sum(pond == X for pond, _ in play.finished) > 20


def test_sources_that_are_only_behind_are_told_as_before() -> None:
    play = Play(diamond())
    play.simulation.act(0, Pulse(pond=X))
    play.simulation.run_until(0)
    gates = play.host.explain(X, 0)
    assert [type(gate) for gate in gates] == [WaitsForSource, WaitsForSource]
