"""Shapes, calendars, and events and effects as JSON."""

import msgspec
import pytest

from pondage.kernel.demand import (
    Effect,
    Occurrences,
    PondKey,
    PondShape,
    Reason,
    Retries,
    decode_state,
    encode_state,
    new_state,
)
from pondage.kernel.demand import effects as effects_module
from pondage.kernel.demand import events as events_module
from pondage.kernel.demand.effects import StartRun, Timer
from pondage.kernel.demand.events import Deploy, Done, Event, Fail, Pulse, Tide, Wave


def test_a_shape_knows_roots_leaves_children_and_an_order() -> None:
    shape = PondShape.of("p", {"c": ("a", "b"), "a": (), "b": ("a", "a")}, sources={"s": True, "t": False})
    assert (shape.roots, shape.leaves, shape.order) == (("a",), ("c",), ("a", "b", "c"))
    assert (shape.ripples["b"], set(shape.children["a"])) == (("a",), {"b", "c"})
    assert (shape.required, shape.gating, shape.is_inlet) == ({"s"}, {"s"}, False)
    assert PondShape.of("p", {"r": ()}, sources={"t": False}).gating == {"t"}


@pytest.mark.parametrize(
    ("ripples", "more", "words"),
    [
        ({}, {}, "no ripple"),
        ({"a": ("b",)}, {}, "unknown parent b"),
        ({"a": ("b",), "b": ("a",)}, {}, "cycle among a, b"),
        ({"a": ()}, {"sources": {"p": True}}, "its own source"),
        ({"a": ()}, {"sources": {"s": True}, "calendar": Occurrences([])}, "cannot have windows"),
        ({"a": ()}, {"retries": Retries(immediately=-1)}, "negative"),
    ],
)
def test_an_impossible_shape_is_refused(
    ripples: dict[str, tuple[str, ...]], more: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        PondShape.of("p", ripples, **more)


def test_windows_include_their_start_and_exclude_their_end() -> None:
    windows = Occurrences([(30, 40), (10, 20), (20, 25)])
    assert [windows.occurrence(now) for now in (9, 10, 19, 20, 25, 39, 40)] == [
        None, (10, 20), (10, 20), (20, 25), None, (30, 40), None,
    ]  # fmt: skip
    assert [windows.next_start(now) for now in (9, 10, 29, 30)] == [10, 20, 30, None]


@pytest.mark.parametrize("windows", [[(5, 5)], [(9, 5)], [(0, 10), (9, 12)]])
def test_empty_and_overlapping_windows_are_refused(windows: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="window"):
        Occurrences(windows)


def test_events_come_back_from_json_as_they_were() -> None:
    p = PondKey("sales@2")
    events: list[Event] = [
        Done(pond=p, ripple="r", attempt=3, reused=True),
        Fail(pond=p, ripple="r", attempt=3, error="boom"),
        Pulse(pond=p, at=17),
        Tide(pond=p, limit=5, name="hourly"),
        Wave(pond=p),
        Deploy(pond=p, definition="9"),
    ]
    decoder = msgspec.json.Decoder(list[Event])
    assert decoder.decode(msgspec.json.encode(events)) == events
    with pytest.raises(msgspec.ValidationError):
        decoder.decode(b'[{"event": "nonsense", "pond": "p"}]')


def test_effects_come_back_from_json_as_they_were() -> None:
    p = PondKey("p")
    effects = [
        StartRun(pond=p, reason=Reason.PULL, number=1, freshness=2, delay=0, taken={PondKey("s"): 2}),
        Timer(pond=p, reason=Reason.TIDE, at=9),
    ]
    assert msgspec.json.decode(msgspec.json.encode(effects), type=list[Effect]) == effects


@pytest.mark.parametrize("module", [events_module, effects_module])
def test_every_event_and_effect_is_frozen_and_has_a_tag_of_its_own(module: object) -> None:
    values = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, msgspec.Struct)]
    kinds = [value for value in values if not value.__name__.startswith("_")]
    assert all(value.__struct_config__.frozen for value in kinds)
    assert len({value.__struct_config__.tag for value in kinds}) == len(kinds) >= 11


def test_a_fresh_state_comes_back_from_json_as_it_was() -> None:
    shape = PondShape.of("p", {"a": (), "b": ("a",)}, sources={"s": True})
    state = new_state(shape, "7")
    assert decode_state(encode_state(state)) == state
