"""The tables of the document about graph scheduling: a test for each, a case for each of its rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pondage.kernel.reaction import Effect, Facts, ReactorShape, State, new_state, next_deadline, recover, step
from pondage.kernel.reaction.effects import Connect, Log, RecoveryNote, Reply, StartFire, StartSource
from pondage.kernel.reaction.events import (
    Accumulator,
    Ask,
    Begin,
    Done,
    Event,
    Push,
    ReactorCrashed,
    Shutdown,
    Tick,
)
from pondage.kernel.reaction.shape import Criteria, Kind, SourceShape, Strategy
from pondage.kernel.reaction.supervise import MAX_RECOVERIES

SECOND = 1_000_000


class World:
    """A reactor of the sources `a` (a stream) and `b` (pushed only), and a clock."""

    def __init__(
        self,
        *,
        criteria: Criteria = Criteria.ANY,
        strategy: Strategy = Strategy.LATEST,
        is_durable: bool = True,
        facts: Facts | None = None,
    ) -> None:
        sources = {"a": SourceShape(name="a", kind=Kind.STREAM), "b": SourceShape(name="b")}
        self.shape = ReactorShape(sources=sources, criteria=criteria, strategy=strategy, is_durable=is_durable)
        self.state: State = new_state(self.shape, facts)
        self.now = 0
        self.said: list[Effect] = []

    def feed(self, *events: Event) -> World:
        for event in events:
            self.said += step(self.state, event, self.now)
        return self

    def live(self) -> World:
        """Bring everything up."""
        return self.feed(Begin(), *UP)

    def wait(self, seconds: float) -> World:
        """Let time pass, with a tick at every deadline."""
        end = self.now + int(seconds * SECOND)
        while (at := next_deadline(self.state)) is not None and at <= end:
            self.now = max(self.now, at)
            self.feed(Tick())
        self.now = end
        return self

    def all(self, kind: type[Effect]) -> list[Effect]:
        return [effect for effect in self.said if type(effect) is kind]

    def inputs(self) -> list[dict[str, object]]:
        """Answer what each fire so far saw, and let the open one end well."""
        fire = self.state.facts.fire
        while fire is not None:
            self.feed(Done(fire.id, fire.attempt, "g", True))
            fire = self.state.facts.fire
        return [effect.inputs for effect in self.said if isinstance(effect, StartFire)]

    def health(self, source: str = "a") -> str:
        return self.state.sources[source].health.value

    def reborn(self) -> World:
        """Answer the next life, from the records of this one."""
        records = [effect.record for effect in self.said if isinstance(effect, Log)]
        return World(criteria=self.shape.criteria, strategy=self.shape.strategy, facts=recover(self.shape, records))


UP = (Accumulator("a", "started"), Accumulator("b", "started"), Accumulator("a", "connected"))


@pytest.mark.parametrize("row", ["trigger", "execution", "lifetime", "state", "scaling"])
def test_table_of_the_two_scheduling_models(row: str) -> None:
    world = World().live()
    if row == "trigger":
        assert world.wait(3600).inputs() == []
        assert world.feed(Push("b", 1)).inputs() == [{"b": 1}]
    elif row == "execution":
        for number in range(3):
            world.feed(Push("b", number)).inputs()
        assert world.inputs() == [{"b": 0}, {"b": 1}, {"b": 2}]
    elif row == "lifetime":
        world.wait(86_400)
        assert world.state.condition.value == "Live"
        world.feed(Shutdown(0))
        assert world.state.condition.value == "Stopped"
    elif row == "state":
        world.feed(Push("b", 1)).inputs()
        assert world.reborn().live().feed(Push("a", 2)).inputs() == [{"a": 2, "b": 1}]
    else:
        # One of several owns a reactor: tests/ledger/step/test_reactors.py and tests/engine/live/kill.py.
        world.feed(Push("b", 1))
        open_fire = world.state.facts.fire
        assert open_fire is not None
        world.feed(Push("b", 2))
        assert world.state.facts.fire is open_fire


ACCUMULATOR_STATES: dict[str, tuple[list[Event], str]] = {
    "Starting": ([Begin()], "a"),
    "Connecting": ([Begin(), UP[0]], "a"),
    "Live": ([Begin(), *UP], "a"),
    "Disconnected": ([Begin(), *UP, Accumulator("a", "lost")], "a"),
    "SocketOnly": ([Begin(), *UP], "b"),
}


@pytest.mark.parametrize("state", ACCUMULATOR_STATES)
def test_table_of_accumulator_states(state: str) -> None:
    events, source = ACCUMULATOR_STATES[state]
    world = World().feed(*events)
    assert world.health(source) == state
    connects = len(world.all(Connect))
    if state == "Starting":
        assert (len(world.all(StartSource)), connects) == (2, 0)
    elif state == "Connecting":
        assert connects == 1
    elif state == "Disconnected":
        assert len(world.wait(1).all(Connect)) == connects + 1
    else:
        assert source not in world.state.unhealthy


REACTOR_STATES: dict[str, tuple[list[Event], bool, bool]] = {
    "Starting": ([], False, False),
    "Warming": ([Begin(), UP[1]], True, False),
    "Live": ([Begin(), *UP], True, True),
    "Degraded": ([Begin(), *UP, Accumulator("a", "lost")], True, True),
}


@pytest.mark.parametrize("state", REACTOR_STATES)
def test_table_of_reactor_states(state: str) -> None:
    events, receives, fires = REACTOR_STATES[state]
    world = World().feed(*events)
    assert world.state.condition.value == state
    world.feed(Push("b", 1, "x"))
    assert bool([each for each in world.all(Reply) if isinstance(each, Reply) and each.payload["accepted"]]) is receives
    assert (world.inputs() == [{"b": 1}]) is fires
    if state == "Warming":
        assert world.feed(UP[0], UP[2]).inputs() == [{"b": 1}]
    if state == "Degraded":
        assert [each.unhealthy for each in world.said if isinstance(each, StartFire)] == [["a"]]


@pytest.mark.parametrize(("criteria", "fires"), [(Criteria.ANY, [1, 2, 3]), (Criteria.ALL, [0, 1, 1])])
def test_table_of_criteria(criteria: Criteria, fires: list[int]) -> None:
    world = World(criteria=criteria).live()
    assert [len(world.feed(event).inputs()) for event in (Push("a", 1), Push("b", 1), Push("b", 2))] == fires


@pytest.mark.parametrize(("strategy", "seen"), [(Strategy.LATEST, [1, 4]), (Strategy.SEQUENTIAL, [1, 2, 3, 4])])
def test_table_of_strategies(strategy: Strategy, seen: list[int]) -> None:
    world = World(strategy=strategy).live()
    world.feed(*(Push("b", number) for number in (1, 2, 3, 4)))
    assert [each["b"] for each in world.inputs()] == seen


def _fails_after_five() -> None:
    notes = [each for each in _crashed_fast(6).said if isinstance(each, RecoveryNote)]
    assert (MAX_RECOVERIES, [each.attempt for each in notes]) == (5, [1, 2, 3, 4, 5, 6])
    assert notes[-1].backoff is None
    assert _crashed_fast(6).state.condition.value == "Failed"


def _crashed_fast(times: int) -> World:
    """Crash again as soon as it is back: it never runs for a minute in between."""
    world = World().live()
    for _ in range(times):
        world.feed(Accumulator("a", "crashed"))
        at = world.state.timers.get(("restart", "a"))
        if at is not None:
            world.wait((at - world.now) / SECOND).feed(*UP)
    return world


def _begins_with_one_second() -> None:
    waits = [each.backoff for each in _crashed_fast(5).said if isinstance(each, RecoveryNote)]
    assert waits == [SECOND * each for each in (1, 2, 4, 8, 16)]


def _waits_sixty_seconds_at_most() -> None:
    world = World().live()
    gaps = []
    for _ in range(9):
        world.feed(Accumulator("a", "lost"))
        before = len(world.all(Connect))
        began = world.now
        while len(world.all(Connect)) == before:
            world.wait(1)
        gaps.append((world.now - began) // SECOND)
    assert gaps == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def _forgets_after_sixty_good_seconds() -> None:
    world = _crashed_fast(3)
    assert world.state.facts.sources["a"].attempts == 3
    assert world.wait(59).state.facts.sources["a"].attempts == 3
    assert world.wait(1).state.facts.sources["a"].attempts == 0


CONSTANTS: dict[str, Callable[[], None]] = {
    "max recovery attempts": _fails_after_five,
    "backoff base": _begins_with_one_second,
    "backoff max": _waits_sixty_seconds_at_most,
    "success reset": _forgets_after_sixty_good_seconds,
}


@pytest.mark.parametrize("constant", CONSTANTS)
def test_table_of_recovery_constants(constant: str) -> None:
    CONSTANTS[constant]()


@pytest.mark.parametrize("command", ["ForceFire", "FireWith", "GetState", "Pause", "Resume"])
def test_table_of_commands(command: str) -> None:
    world = World(criteria=Criteria.ALL).live().feed(Push("b", 1))
    if command == "ForceFire":
        assert world.feed(Ask("c", "force_fire")).inputs() == [{"b": 1}]
    elif command == "FireWith":
        assert world.feed(Ask("c", "fire_with", {"a": 7})).inputs() == [{"a": 7}]
    elif command == "GetState":
        world.feed(Ask("c", "get_state"))
        (reply,) = [each.payload for each in world.said if isinstance(each, Reply)]
        sources = reply["sources"]
        assert isinstance(sources, dict)
        assert {name: (each["value"], each["dirty"]) for name, each in sources.items()} == {
            "a": (None, False),
            "b": (1, True),
        }
    else:
        world.feed(Ask("c", "pause"), Push("a", 2), Push("b", 3))
        assert world.inputs() == []
        assert world.state.facts.sources["b"].seen == 2
        if command == "Resume":
            assert world.feed(Ask("d", "resume")).inputs() == [{"a": 2, "b": 3}]


@pytest.mark.parametrize("feature", ["latency", "missed", "runners", "guarantee", "database"])
def test_table_of_features_beside_cron(feature: str) -> None:
    world = World(strategy=Strategy.SEQUENTIAL).live()
    if feature == "latency":
        # No timer is between an event and its fire; `make bench NAME=reactor` measures the time.
        assert world.feed(Push("b", 1)).now == 0
        assert world.inputs() == [{"b": 1}]
    elif feature == "missed":
        world.feed(Ask("c", "pause"), Push("b", 1), Push("b", 2)).wait(3600)
        assert [each["b"] for each in world.feed(Ask("d", "resume")).inputs()] == [1, 2]
    elif feature == "runners":
        # Deviation 16: one fenced owner, and any live host takes over (tests/engine/live/test_host_process.py).
        world.feed(Push("b", 1))
        assert [each.fire for each in world.reborn().live().said if isinstance(each, StartFire)] == [1]
    elif feature == "guarantee":
        world.feed(Push("b", 1), Push("b", 2))
        assert [each["b"] for each in world.reborn().live().inputs()] == [1, 2]
    else:
        memory = World(is_durable=False).live().feed(Push("b", 1))
        assert (memory.all(Log), memory.inputs()) == ([], [{"b": 1}])
        memory.feed(ReactorCrashed()).wait(1).feed(*UP)
        assert memory.state.facts.sources["b"].seen == 0
