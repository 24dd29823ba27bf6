"""The short way to the next fire comes to the same as the long one, and is one that costs little."""

import random
import sys
from collections.abc import Callable

import msgspec
import pytest

from pondage.kernel.reaction import Effect, Event, ReactorShape, SourceShape, State, new_state, step
from pondage.kernel.reaction.effects import StartFire
from pondage.kernel.reaction.events import Accumulator, Ask, Begin, Bind, Done, Journal, Push, Tick, Unbind
from pondage.kernel.reaction.shape import Criteria, Failing, FailurePolicy, Kind, Policy, Strategy

STEPS = sys.modules["pondage.kernel.reaction.step"]
MOST_CALLS = {"memory": 19, "journal": 17}
"""Calls of Python functions for a Sequential fire: from the report of one to the start of the next, with the push."""


def random_shape(dice: random.Random) -> ReactorShape:
    names = [f"s{number}" for number in range(dice.choice([1, 1, 2, 3]))]
    kinds = [Kind.PASSTHROUGH, Kind.PASSTHROUGH, Kind.STATE]
    policies = {
        name: SourceShape(
            name=name,
            kind=dice.choice(kinds),
            window=dice.choice([-1, 0, 2]),
            policy=dice.choice(list(Policy)),
            capacity=dice.choice([2, 5, 1024]),
            optional=place > 0 and dice.random() < 0.3,
            stale_after=dice.choice([None, None, 40]),
        )
        for place, name in enumerate(names)
    }
    failing = dice.choice([None, *(FailurePolicy(policy=each, retries=1, base=5) for each in Failing)])
    return ReactorShape(
        sources=policies,
        criteria=dice.choice(list(Criteria)),
        strategy=dice.choice(list(Strategy)),
        graphs=dice.choice([("g",), ("g",), ("g", "h")]),
        on_failure=failing,
        window=dice.choice([1, 3, 64]),
        is_durable=dice.random() < 0.5,
        second=10,
    )


def random_event(dice: random.Random, state: State) -> Event:
    chance = dice.random()
    fire = state.facts.fire
    if chance < 0.5 and fire is not None and fire.pending:
        graph = dice.choice(list(fire.pending))
        attempt = fire.pending[graph] + (dice.random() < 0.05)
        return Done(fire.id + (dice.random() < 0.05), attempt, graph, dice.random() < 0.9, "e")
    name = dice.choice(list(state.sources))
    if chance < 0.88:
        offset = dice.choice([None, None, dice.randrange(60)])
        return Push(name, dice.randrange(99), dice.choice([None, "p"]), offset)
    rare: list[Event] = [
        Tick(), Journal(dice.random() < 0.5), Bind("h"), Unbind("h"), Unbind("g"), Bind("g"),
        Accumulator(name, "crashed"), Accumulator(name, "started"), Ask("c", "pause"), Ask("d", "resume"),
        Ask(f"f{dice.randrange(9)}", "force_fire"), Ask("k", "kill"), Ask("r", "revive"),
        Ask(f"w{dice.randrange(9)}", "fire_with", {name: 1}), Ask("x", "redrive", dice.randrange(9)),
    ]  # fmt: skip
    return dice.choice(rare)


def started(shape: ReactorShape) -> State:
    state = new_state(shape)
    step(state, Begin(), 0)
    for name in shape.sources:
        step(state, Accumulator(name, "started"), 0)
    return state


def text(effects: list[Effect]) -> bytes:
    return msgspec.json.encode([(type(each).__name__, each) for each in effects])


@pytest.mark.parametrize("block", range(4))
def test_the_short_way_comes_to_the_same_as_the_long_one(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ways = {"go_on": STEPS.go_on, "begin_next": STEPS.begin_next}
    taken = {(name, is_durable): 0 for name in ways for is_durable in (False, True)}
    is_short = True

    def way(name: str) -> Callable[..., bool]:
        def call(state: State, *given: object) -> bool:
            is_taken = is_short and bool(ways[name](state, *given))
            taken[name, state.is_durable] += is_taken
            return is_taken

        return call

    for name in ways:
        monkeypatch.setattr(STEPS, name, way(name))
    for seed in range(80 * block, 80 * block + 80):
        dice = random.Random(seed)
        shape = random_shape(dice)
        short, long, now = started(shape), started(shape), 0
        for _ in range(120):
            event = random_event(dice, short)
            now += dice.choice([0, 1, 1, 7])
            is_short = True
            first = step(short, event, now)
            is_short = False
            second = step(long, event, now)
            is_short = True
            assert text(first) == text(second), (seed, event)
            assert short.facts == long.facts, (seed, event)
            assert (short.has_room, short.started_fire) == (long.has_room, long.started_fire), (seed, event)
            assert (short.next_at, short.condition) == (long.next_at, long.condition), (seed, event)
    assert min(taken.values()) > 20, taken


@pytest.mark.parametrize("kept", ["memory", "journal"])
def test_a_sequential_fire_stays_within_its_budget_of_calls(kept: str) -> None:
    shape = ReactorShape(
        sources={"s": SourceShape(name="s")}, strategy=Strategy.SEQUENTIAL, is_durable=kept == "journal"
    )
    state = started(shape)
    effects = [each for number in range(65) for each in step(state, Push("s", number), 1)]
    calls = 0

    def count(_: object, what: str, __: object) -> None:
        nonlocal calls
        calls += what == "call"

    fired = 0
    sys.setprofile(count)
    try:
        while (start := next((each for each in effects if type(each) is StartFire), None)) is not None:
            effects = step(state, Done(start.fire, start.attempt, "g", True), 1)
            fired += 1
    finally:
        sys.setprofile(None)
    assert fired == 65
    assert calls / fired <= MOST_CALLS[kept], calls / fired
