"""Another declaration in the next life: state is kept by source name (section 7 of the specification)."""

import msgspec
import pytest

from pondage.conform.reaction_host import VirtualReactorHost
from pondage.conform.reaction_scenario import ReactionScenario, ReactorGiven
from pondage.conform.reaction_trace import ReactionTrace
from pondage.conform.reaction_world import ReactionWorld
from pondage.kernel.reaction.redeclare import redeclare


def play(
    first: dict[str, object], then: dict[str, object], events: list[list[object]], **env: object
) -> tuple[ReactionTrace, ReactionWorld]:
    scenario = msgspec.convert(
        {
            "id": "X",
            "reactor": first,
            "env": env,
            "events": events,
            "crashes": [[100, 200, then]],
            "until": 900,
            "expect": {},
        },
        ReactionScenario,
    )
    world = ReactionWorld(scenario, VirtualReactorHost)
    return world.play(), world


def reactor(sources: dict[str, object], **options: object) -> dict[str, object]:
    return {"sources": sources, **options}


PAUSED: list[list[object]] = [
    [5, "cmd", "p", "pause"],
    [10, "push", "a", 1],
    [11, "push", "a", 2],
    [12, "push", "b", 7],
    [300, "cmd", "r", "resume"],
]


def test_a_kept_source_keeps_its_boundaries_and_a_new_one_gates() -> None:
    first = reactor({"a": {}, "b": {}}, criteria="all", strategy="sequential")
    then = reactor({"a": {}, "c": {}}, criteria="all", strategy="sequential")
    trace, _ = play(first, then, [*PAUSED, [400, "push", "c", 5]])
    assert trace.fires == [[400, {"a": 1, "c": 5}, "when_all", "ok"]]
    assert list(trace.state["sources"]) == ["a", "c"]


def test_latest_keeps_the_newest_of_a_queue() -> None:
    trace, _ = play(reactor({"a": {}, "b": {}}, strategy="sequential"), reactor({"a": {}, "b": {}}), PAUSED)
    assert trace.fires == [[300, {"a": 2, "b": 7}, "when_any", "ok"]]


def test_sequential_queues_the_entry_that_no_fire_consumed() -> None:
    trace, _ = play(reactor({"a": {}, "b": {}}), reactor({"a": {}, "b": {}}, strategy="sequential"), PAUSED)
    assert [fire[1] for fire in trace.fires] == [{"a": 2}, {"a": 2, "b": 7}]


def test_the_open_fire_runs_again_under_its_id_and_is_consumed_once() -> None:
    for one, other in (("latest", "sequential"), ("sequential", "latest")):
        first, then = (reactor({"a": {}}, strategy=strategy) for strategy in (one, other))
        trace, _ = play(first, then, [[50, "push", "a", 1], [400, "push", "a", 2]], takes=60)
        assert [fire[1:4] for fire in trace.fires] == [
            [{"a": 1}, "when_any", "lost"],
            [{"a": 1}, "replay", "ok"],
            [{"a": 2}, "when_any", "ok"],
        ]
        assert trace.ids == [(1, 1), (1, 2), (2, 1)]


def test_a_plan_is_kept_while_its_sources_and_the_strategy_are() -> None:
    first = reactor({"a": {}, "b": {}}, strategy="sequential", window=4)
    events = [[10, "push", "a", 1], [10, "push", "a", 2], [10, "push", "b", 3]]
    for then, ids in (
        (reactor({"a": {}, "b": {}, "c": {}}, strategy="sequential", window=4), [1, 1, 2, 3]),
        (reactor({"a": {}}, strategy="sequential", window=4), [1, 1, 2]),
    ):
        trace, world = play(first, then, events, takes=95)
        assert isinstance(world.host, VirtualReactorHost)
        assert [fire for fire, _ in trace.ids] == ids
        assert trace.state["running"] is None


def test_another_kind_under_one_name_is_not_taken() -> None:
    trace, _ = play(reactor({"a": {}}), reactor({"a": {"kind": "state"}}), [[300, "push", "a", 1]])
    assert trace.fires == [[300, {"a": 1}, "when_any", "ok"]]


@pytest.mark.parametrize(
    ("declared", "dropped"),
    [
        (reactor({"a": {}, "b": {}}, criteria="all", strategy="sequential"), {"b": 2}),
        (reactor({"a": {}, "b": {}}, criteria="all", strategy="sequential", window=4), {"b": 2}),
        (reactor({"a": {}, "b": {}}, criteria="all"), {"b": 1}),
        (reactor({"a": {}, "b": {"kind": "batch", "size": 3}}), {"b": 2}),
        (reactor({"a": {}, "b": {}}), {}),
    ],
    ids=["sequential", "window", "latest", "batch", "consumed"],
)
def test_what_a_removed_source_had_pending_is_counted_as_dropped(
    declared: dict[str, object], dropped: dict[str, int]
) -> None:
    scenario = msgspec.convert(
        {
            "id": "Y",
            "reactor": declared,
            "events": [[1, "push", "b", 1], [2, "push", "b", 2]],
            "until": 9,
            "expect": {},
        },
        ReactionScenario,
    )
    before = ReactionWorld(scenario, VirtualReactorHost)
    before.play()
    assert isinstance(before.host, VirtualReactorHost)
    assert before.host.state is not None
    new = msgspec.convert(reactor({"a": {}}), ReactorGiven).shape()
    assert redeclare(before.host.shape, before.host.state.facts, new).dropped == dropped


def test_what_the_open_fire_has_of_a_removed_source_is_not_dropped() -> None:
    for strategy in ("latest", "sequential"):
        scenario = msgspec.convert(
            {
                "id": "Z",
                "reactor": reactor({"a": {}, "b": {}}, strategy=strategy),
                "env": {"hang": {"b": 1}},
                "events": [[1, "push", "b", 1]],
                "until": 9,
                "expect": {},
            },
            ReactionScenario,
        )
        before = ReactionWorld(scenario, VirtualReactorHost)
        before.play()
        assert isinstance(before.host, VirtualReactorHost)
        assert before.host.state is not None
        new = msgspec.convert(reactor({"a": {}}), ReactorGiven).shape()
        assert redeclare(before.host.shape, before.host.state.facts, new).dropped == {}
