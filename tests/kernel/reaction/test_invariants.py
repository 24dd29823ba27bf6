"""The invariants of the reaction machine, on random reactors in random worlds (section 9 of the specification)."""

import random
import sys
from collections.abc import Callable

import msgspec
import pytest

from pondage.conform.reaction_host import VirtualReactorHost
from pondage.kernel.reaction import (
    ReactorShape,
    SourceShape,
    State,
    decode_facts,
    encode_facts,
    new_state,
    read_event,
    step,
    step_many,
)
from pondage.kernel.reaction import committing as committing_module
from pondage.kernel.reaction import firing as firing_module
from pondage.kernel.reaction import settling as settling_module
from pondage.kernel.reaction.effects import RefusedEvent, StartFire
from pondage.kernel.reaction.events import EVENTS, Accumulator, Begin, Done, Push
from tests.kernel.reaction.fuzz import CheckedHost, MortalHost, MortalWorld, Oracle, play, random_scenario

SEEDS = range(100)


@pytest.mark.parametrize("block", range(4))
def test_random_worlds_with_crashes_keep_every_invariant(block: int) -> None:
    for seed in SEEDS:
        play(random_scenario(1000 * block + seed), seed)


@pytest.mark.parametrize("seed", range(8))
def test_a_crash_after_every_durable_record_loses_nothing(seed: int) -> None:
    scenario = random_scenario(seed, crashes=False)
    scenario.until = 20_000
    whole = MortalWorld(scenario, dies_after=-1)
    whole.play()
    assert isinstance(whole.host, MortalHost)
    for place in range(1, min(len(whole.host.journal), 60) + 1):
        world = MortalWorld(scenario, dies_after=place)
        world.play()
        assert isinstance(world.host, MortalHost)
        Oracle(world, world.host).check()  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(12))
def test_the_same_world_gives_equal_bytes(seed: int) -> None:
    first, second = play(random_scenario(seed), seed), play(random_scenario(seed), seed)
    for one, other in (
        (first.trace.fires, second.trace.fires),
        (first.trace.replies, second.trace.replies),
        (first.trace.ponds, second.trace.ponds),
    ):
        assert msgspec.json.encode(one) == msgspec.json.encode(other)


@pytest.mark.parametrize("seed", range(12))
def test_facts_survive_json(seed: int) -> None:
    host = play(random_scenario(seed), seed).host
    assert isinstance(host, CheckedHost)
    assert host.state is not None
    assert decode_facts(encode_facts(host.state.facts)) == host.state.facts


def test_garbage_is_refused_and_never_raises() -> None:
    dice = random.Random(5)
    rubbish: list[object] = [None, 7, -1, "a", "", [], {}, {"a": 1}, True, 1.5, ["a"], b"x", object()]
    state = new_state(ReactorShape(sources={"a": SourceShape(name="a"), "b": SourceShape(name="b")}))
    step(state, Begin(), 0)
    for _ in range(4000):
        kind = dice.choice(EVENTS)
        fields = [dice.choice(rubbish) for _ in kind.__struct_fields__]
        step(state, kind(*fields), dice.choice([0, 5, -3, 10**9]))
    for event in rubbish:
        effects = step(state, event, 0)
        assert any(isinstance(effect, RefusedEvent) for effect in effects)
    assert read_event(["push"]) is None
    assert read_event(["push", "a", 1, None, None, None, 0, None, "too long"]) is None
    assert read_event("push") is None


def test_time_never_runs_back() -> None:
    state = live_state()
    step(state, Push("a", 1), 100)
    step(state, Push("a", 2), 50)
    assert state.now == 100


def test_many_events_in_one_step_are_simultaneous_arrival() -> None:
    state = live_state()
    effects = step_many(state, [Push("a", 1), Push("b", 2), Push("a", 3)], 10)
    starts = [effect for effect in effects if isinstance(effect, StartFire)]
    assert [start.inputs for start in starts] == [{"a": 3, "b": 2}]


def live_state() -> State:
    state = new_state(ReactorShape(sources={"a": SourceShape(name="a"), "b": SourceShape(name="b")}))
    step(state, Begin(), 0)
    step(state, Accumulator("a", "started"), 0)
    step(state, Accumulator("b", "started"), 0)
    return state


# Deliberate defects: the checks above must find each of them, or they check nothing.


def consumes_what_came_later(patch: pytest.MonkeyPatch) -> None:
    original = committing_module._consume

    def consume(source: object, entry: object, seq: int, *options: bool) -> None:
        original(source, entry, max(seq, source.seen), *options)  # type: ignore[arg-type, attr-defined]

    patch.setattr(committing_module, "_consume", consume)


def forgets_to_evaluate(patch: pytest.MonkeyPatch) -> None:
    calls = iter(range(10**9))
    original: Callable[[object], None] = settling_module.evaluate
    patch.setattr(settling_module, "evaluate", lambda state: None if next(calls) % 7 == 0 else original(state))


def gives_a_retry_a_new_id(patch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(10**9))
    patch.setattr(firing_module, "version_vector", lambda consumes, inputs: str(next(numbers)))


def acknowledges_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(VirtualReactorHost, "_may_perform", lambda self, effect: True)


def changes_a_fact_without_a_record(patch: pytest.MonkeyPatch) -> None:
    original = firing_module.on_done

    def on_done(state: object, event: Done) -> None:
        state.facts.arrivals += 1  # type: ignore[attr-defined]
        original(state, event)  # type: ignore[arg-type]

    patch.setattr(sys.modules["pondage.kernel.reaction.step"], "on_done", on_done)


def runs_a_fire_again_with_new_inputs(patch: pytest.MonkeyPatch) -> None:
    original = firing_module._announce

    def announce(state: object, graphs: list[str], **options: object) -> None:
        original(state, graphs, **options)  # type: ignore[arg-type]
        start = state.out[-1]  # type: ignore[attr-defined]
        if isinstance(start, StartFire) and start.attempt > 1:
            state.out[-1] = msgspec.structs.replace(start, inputs={"a": "new"})  # type: ignore[attr-defined]

    patch.setattr(firing_module, "_announce", announce)


@pytest.mark.parametrize(
    "defect",
    [
        consumes_what_came_later,
        forgets_to_evaluate,
        gives_a_retry_a_new_id,
        acknowledges_before_the_commit,
        changes_a_fact_without_a_record,
        runs_a_fire_again_with_new_inputs,
    ],
)
def test_a_deliberate_defect_is_found(
    defect: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    defect(monkeypatch)
    with pytest.raises((AssertionError, KeyError, IndexError)):
        play_many(range(400))


def play_many(seeds: range) -> None:
    for seed in seeds:
        play(random_scenario(seed), seed)
