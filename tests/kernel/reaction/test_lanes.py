"""Sources of several lanes: an offset in each, moved by the record of the boundary and by nothing else."""

from __future__ import annotations

import random

import pytest

from pondage.kernel.reaction import ReactorShape, State, recover, step
from pondage.kernel.reaction.apply import LANES_KEPT
from pondage.kernel.reaction.effects import Connect, Effect, Log, Reply
from pondage.kernel.reaction.events import Accumulator, Begin, Push, Skip, UndecodableEvent
from pondage.kernel.reaction.look import look
from pondage.kernel.reaction.records import AnyRecord, Boundary, Offset, Undecodable
from pondage.kernel.reaction.shape import Kind, SourceShape
from pondage.kernel.reaction.state import new_state

SHAPE = ReactorShape(sources={"a": SourceShape(name="a", kind=Kind.STREAM)}, graphs=())


def begun(facts: object = None) -> tuple[State, list[Effect]]:
    state = new_state(SHAPE, facts)  # type: ignore[arg-type]
    said = [*step(state, Begin(), 0), *step(state, Accumulator("a", "started"), 0)]
    step(state, Accumulator("a", "connected"), 0)
    return state, said


def answers(effects: list[Effect]) -> list[dict[str, object]]:
    return [effect.payload for effect in effects if isinstance(effect, Reply)]


def test_an_offset_counts_inside_its_lane() -> None:
    state, _ = begun()
    step(state, Push("a", 1, None, 7, lane="0"), 1)
    assert answers(step(state, Push("a", 2, "x", 3, lane="1"), 2)) == [{"accepted": True, "seq": 2}]
    assert answers(step(state, Push("a", 3, "y", 3, lane="1"), 3)) == [{"accepted": True, "dup": True}]
    assert look(state)["sources"]["a"]["offset"] == {"0": 7, "1": 3}  # type: ignore[index]


def test_the_next_life_connects_behind_each_lane() -> None:
    state, _ = begun()
    pushes = [Push("a", 1, None, 7, lane="0"), Push("a", 2, None, 3, lane="1")]
    effects = [effect for event in pushes for effect in step(state, event, 1)]
    facts = recover(SHAPE, [effect.record for effect in effects if isinstance(effect, Log)])
    assert facts == state.facts
    _, said = begun(facts)
    assert [effect for effect in said if isinstance(effect, Connect)] == [Connect("a", None, {"0": 7, "1": 3})]


def test_what_gives_no_boundary_moves_its_lane_and_is_answered() -> None:
    state, _ = begun()
    assert answers(step(state, Skip("a", 4, "x", "0"), 1)) == [{"accepted": True}]
    said = step(state, UndecodableEvent("a", 5, "not a number", "y", "0", "seven"), 2)
    assert answers(said) == [{"accepted": False, "error": "invalid", "path": "not a number"}]
    assert state.facts.sources["a"].lanes == {"0": 5}
    (letter,) = state.facts.dead.values()
    assert (letter.id, letter.raw) == ("a@0/5", "seven")


def test_the_lanes_that_moved_last_are_remembered() -> None:
    state, _ = begun()
    for number in range(LANES_KEPT + 1):
        step(state, Push("a", number, None, 0, lane=f"#{number}"), number)
        step(state, Push("a", number, None, number, lane="0"), number)
    lanes = state.facts.sources["a"].lanes
    assert len(lanes) == LANES_KEPT
    assert "#1" not in lanes
    assert {"0", f"#{LANES_KEPT}", "#2"} <= set(lanes)


@pytest.mark.parametrize("seed", range(30))
def test_a_crash_at_any_record_loses_and_repeats_nothing_of_any_lane(seed: int) -> None:
    """Three lanes are read anew after each crash, behind what is durable; some of it is handed out twice anyway."""
    dice = random.Random(seed)
    logs = {lane: dice.randrange(1, 12) for lane in ("0", "1", "2")}
    journal: list[AnyRecord] = []
    while True:
        facts = recover(SHAPE, journal)
        places = {lane: facts.sources["a"].lanes.get(lane, -1) + 1 for lane in logs}
        if all(places[lane] >= count for lane, count in logs.items()):
            break
        state, _ = begun(facts)
        effects: list[Effect] = []
        for now in range(dice.randrange(1, 10)):
            lane = dice.choice([each for each, count in logs.items() if places[each] < count] or ["0"])
            offset = places[lane] if places[lane] < logs[lane] else 0
            again = dice.randrange(offset + 1)
            for at in sorted({again, offset}):
                effects += step(state, _event(dice, at, lane), now)
            places[lane] = max(places[lane], offset + 1)
        records = [effect.record for effect in effects if isinstance(effect, Log)]
        journal += records[: dice.randrange(len(records) + 1)]
    taken = [(record.lane, record.offset) for record in journal if isinstance(record, (Boundary, Offset, Undecodable))]
    assert sorted(taken) == sorted((lane, offset) for lane, count in logs.items() for offset in range(count))


def _event(dice: random.Random, offset: int, lane: str) -> Push | Skip | UndecodableEvent:
    kind = dice.randrange(6)
    if kind == 0:
        return Skip("a", offset, None, lane)
    if kind == 1:
        return UndecodableEvent("a", offset, "no", None, lane, "raw")
    return Push("a", offset, None, offset, lane=lane)
