"""Section 5 of the demand rules: what holds for every graph, every order of reports, every mix of verbs and faults."""

import random
from collections.abc import Sequence

import msgspec
import pytest

from pondage.kernel.demand import (
    Effect,
    Event,
    MemoryPonds,
    PondKey,
    PondShape,
    Step,
    decode_state,
    encode_state,
    explain,
    step,
)
from pondage.kernel.demand.events import Calm, Clear, Deploy, Done, Fail, Pulse, Tap, Tick, Wave
from pondage.simulate.drive import Delivery
from pondage.simulate.virtual import VirtualHost
from tests.kernel.demand.graphs import SECOND, Graph, Play, depth, random_graph, random_ripples
from tests.kernel.demand.mixes import FAULTS_END, Mix, Started, random_mix

CHUNKS = range(4)


def seeds(chunk: int, count: int) -> range:
    return range(chunk * count, (chunk + 1) * count)


def random_chain(rng: random.Random) -> Graph:
    graph = Graph(shapes=[], durations={})
    for place in range(rng.randint(1, 5)):
        sources = {f"p{place - 1}": True} if place else {}
        shape = PondShape.of(f"p{place}", random_ripples(rng), sources=sources)
        graph.shapes.append(shape)
        graph.durations.update({(shape.key, ripple): SECOND for ripple in shape.ripples})
    return graph


@pytest.mark.parametrize("chunk", CHUNKS)
def test_on_a_chain_of_equal_durations_each_pond_runs_as_often_as_the_summed_ripple_depth(chunk: int) -> None:
    for seed in seeds(chunk, 60):
        graph = random_chain(random.Random(seed))
        expected, summed = {}, 0
        for shape in reversed(graph.shapes):
            summed += depth(shape)
            expected[shape.key] = summed
        for delivery in Delivery:
            for order in range(3):
                tap = [(0, Tap(pond=graph.keys[-1]))]
                play = Play(graph=graph, actions=tap, order=order, delivery=delivery, until=1000 * SECOND)
                assert play.run().runs() == expected, (seed, order, delivery)


@pytest.mark.parametrize("chunk", CHUNKS)
def test_the_order_of_the_reports_of_one_instant_changes_nothing(chunk: int) -> None:
    for seed in seeds(chunk, 120):
        rng = random.Random(seed)
        graph = random_graph(rng, optional=0.25, durations=(500, 1000, 1000, 2000, 3000))
        keys = rng.sample(graph.keys, min(2, len(graph.keys)))
        actions = [(0, rng.choice([Tap, Wave, Pulse])(pond=key)) for key in keys]
        outcomes = [
            Play(graph=graph, actions=actions, order=order, until=20 * SECOND).run().summary() for order in range(4)
        ]
        assert all(outcome == outcomes[0] for outcome in outcomes), seed


def clear_and_wait(mix: Mix, started: Started) -> None:
    simulation, ponds = started.simulation, started.play.ponds
    simulation.run_until(FAULTS_END)
    for key in mix.graph.keys:
        if key not in ponds.states:
            simulation.act(40 * SECOND, Deploy(pond=key, definition="1"))
        simulation.act(40 * SECOND, Clear(pond=key))
        simulation.act(40 * SECOND, Calm(pond=key))
        if mix.drops_demand:  # what Sleep and Kill dropped is asked for again by the next demand
            simulation.act(41 * SECOND, Pulse(pond=key))
    simulation.run_until(400 * SECOND)


@pytest.mark.parametrize("backfills", [False, True], ids=["", "backfills"])
@pytest.mark.parametrize("deploys", [False, True], ids=["verbs", "verbs and deploys"])
@pytest.mark.parametrize("chunk", CHUNKS)
def test_any_mix_of_verbs_faults_and_windows_keeps_every_invariant_in_any_order(
    chunk: int, deploys: bool, backfills: bool
) -> None:
    """After each step: end_f never falls, end_f <= start_f, no Run above its Sources, no second completed Run at one
    freshness, no met target kept, nothing startable left, every cache true. Whatever the order, the same outcome.
    """
    for seed in seeds(chunk, 300):
        mix = random_mix(seed, deploys=deploys, backfills=backfills)
        outcomes = []
        for order in range(3):
            started = mix.start(order)
            started.simulation.run_until(FAULTS_END)
            assert started.watcher.violations == [], seed
            outcomes.append(started.outcome().summary())
        assert outcomes[1] == outcomes[0], seed
        assert outcomes[2] == outcomes[0], seed


@pytest.mark.parametrize("backfills", [False, True], ids=["", "backfills"])
@pytest.mark.parametrize("deploys", [False, True], ids=["verbs", "verbs and deploys"])
@pytest.mark.parametrize("chunk", CHUNKS)
def test_nothing_is_stranded_after_faults_are_cleared(chunk: int, deploys: bool, backfills: bool) -> None:
    for seed in seeds(chunk + 10, 300):
        mix = random_mix(seed, deploys=deploys, backfills=backfills)
        started = mix.start()
        clear_and_wait(mix, started)
        assert started.watcher.violations == [], seed
        assert started.simulation.is_idle, seed
        for key, state in started.play.ponds.states.items():
            assert not state.targets, (seed, key)
            assert not state.active, (seed, key)
            assert not state.chunks, (seed, key)
            assert state.chunk is None, (seed, key)
            assert state.condition.value == "ok", (seed, key)
            assert mix.drops_demand or not state.has_pull, (seed, key)
        before = started.outcome().runs()
        for key in mix.graph.keys:
            started.simulation.act(400 * SECOND, Tap(pond=key))
        started.simulation.run_until(800 * SECOND)
        after = started.outcome().runs()
        assert all(after[key] > before[key] for key in before), (seed, before, after)


class ForgetfulHost(VirtualHost):
    """Stores each changed state as JSON and reads it back, as a ledger does, and checks that no other one changed."""

    def __init__(self, ponds: MemoryPonds) -> None:
        super().__init__(ponds)
        self.rows: dict[PondKey, bytes] = {}

    def advance(self, now: int, events: Sequence[Event]) -> Step:
        result = step(self.ponds, msgspec.json.decode(msgspec.json.encode(events), type=list[Event]), now)
        for key, state in self.ponds.states.items():
            if key in result.changed:
                self.rows[key] = encode_state(state)
            assert encode_state(state) == self.rows[key], f"{key} changed at {now} and was not named"
            self.ponds.states[key] = decode_state(self.rows[key])
        assert set(result.changed) <= set(self.ponds.states)
        return result


@pytest.mark.parametrize("backfills", [False, True], ids=["", "backfills"])
@pytest.mark.parametrize("deploys", [False, True], ids=["verbs", "verbs and deploys"])
def test_storing_only_what_changed_as_json_after_every_step_changes_nothing(deploys: bool, backfills: bool) -> None:
    for seed in range(150):
        mix = random_mix(seed, deploys=deploys, backfills=backfills)
        plain, forgetful = mix.start(), mix.start(make_host=ForgetfulHost)
        for started in (plain, forgetful):
            started.simulation.run_until(60 * SECOND)
        assert forgetful.outcome().summary() == plain.outcome().summary(), seed
        assert forgetful.play.ponds.states == plain.play.ponds.states, seed


def test_the_same_arguments_give_the_same_effects_in_the_same_order() -> None:
    for seed in range(60):
        mix = random_mix(seed)
        histories = []
        for _ in range(2):
            history: list[tuple[int, Sequence[Effect]]] = []
            started = mix.start()
            started.simulation._watch = lambda now, effects, history=history: history.append((now, effects))
            started.simulation.run_until(FAULTS_END)
            histories.append(history)
        assert histories[0] == histories[1], seed


def random_garbage(rng: random.Random, keys: list[PondKey]) -> Event:
    pond = rng.choice([*keys, PondKey("nobody"), PondKey("")])
    number = rng.choice([-(2**40), -2, -1, 0, 1, 2, 7, 2**62])
    ripple = rng.choice(["r0", "r1", "", "unknown"])
    return msgspec.convert(
        rng.choice(
            [
                {"event": "done", "pond": pond, "ripple": ripple, "attempt": number},
                {"event": "fail", "pond": pond, "ripple": ripple, "attempt": number},
                {"event": "pulse", "pond": pond, "at": number},
                {"event": "tide", "pond": pond, "limit": number, "name": ripple},
                {"event": "wave", "pond": pond, "pacing": rng.choice(["eager", "just_in_time"])},
                {"event": "calm", "pond": pond, "name": ripple},
                {"event": "deploy", "pond": pond, "definition": rng.choice(["1", "2", "?"])},
                {"event": "rollback", "pond": pond, "run": ripple},
                {"event": "backfill", "pond": pond, "chunk": ripple},
                {"event": "withdraw", "pond": pond, "chunk": ripple, "stop": rng.random() < 0.5},
                {"event": "sleep", "pond": pond, "upstream": rng.random() < 0.5},
                *(
                    {"event": kind, "pond": pond}
                    for kind in ("tap", "clear", "wake", "force", "kill", "tick", "remove")
                ),
            ]
        ),
        Event,
    )


def test_no_event_raises_whatever_it_says_and_whenever_it_comes() -> None:
    for seed in range(300):
        rng = random.Random(seed)
        graph = random_graph(rng, optional=0.3, windows=0.3, retries=True)
        ponds = MemoryPonds()
        for shape in graph.shapes:
            ponds.define(shape)
        step(ponds, [Deploy(pond=key, definition="1") for key in graph.keys], 0)
        now = 0
        for _ in range(40):
            now += rng.choice([-5000, 0, 0, 1, 1000, 2**40])
            events = [random_garbage(rng, graph.keys) for _ in range(rng.randint(0, 4))]
            for key, state in ponds.states.items():
                for name, ripple in state.ripples.items():
                    if ripple.is_busy and rng.random() < 0.5:
                        kind = Done if rng.random() < 0.7 else Fail
                        events.append(kind(pond=key, ripple=name, attempt=ripple.attempt))
            step(ponds, events, now)
            for key in graph.keys:
                explain(ponds, key, now)


def test_a_tick_too_many_changes_nothing() -> None:
    for seed in range(60):
        mix = random_mix(seed)
        plain, ticked = mix.start(), mix.start()
        rng = random.Random(seed)
        for _ in range(40):
            ticked.simulation.act(rng.randrange(FAULTS_END), Tick(pond=rng.choice(mix.graph.keys)))
        for started in (plain, ticked):
            started.simulation.run_until(FAULTS_END)
        assert ticked.outcome().summary() == plain.outcome().summary(), seed
