"""Standing triggers: pausing and resuming them, and what Sleep, Kill, Wake and Deploy do to them."""

import random

import pytest

from pondage.kernel.demand import Pacing, PondKey, PondShape
from pondage.kernel.demand.events import (
    Calm,
    Clear,
    Due,
    Kill,
    Pause,
    Resume,
    Sleep,
    Tap,
    Tick,
    Tide,
    Verb,
    Wake,
    Wave,
)
from pondage.kernel.demand.gates import Paused
from pondage.kernel.demand.state import PausedBy, decode_state, encode_state
from tests.kernel.demand.driving import Driver
from tests.kernel.demand.graphs import SECOND, Play, random_graph

KEY = PondKey("a")
NIGHTLY = PondShape.of("a", {"r": ()}, schedules=["night", "noon"])


@pytest.mark.parametrize("chunk", range(4))
def test_a_trigger_that_is_paused_and_resumed_asks_as_one_that_is_taken_away_and_given_again(chunk: int) -> None:
    for seed in range(chunk * 40, (chunk + 1) * 40):
        rng = random.Random(seed)
        graph = random_graph(rng, optional=0.2, windows=0.2, durations=(SECOND, 3 * SECOND))
        key = rng.choice(graph.keys)
        given: Verb = rng.choice(
            [Wave(pond=key), Wave(pond=key, pacing=Pacing.JUST_IN_TIME), Tide(pond=key, limit=4 * SECOND, name="t")]
        )
        name = given.name if isinstance(given, Tide) else "wave"
        off, on = sorted(rng.sample(range(1_000, 40_000, 500), 2))
        other = (rng.randrange(0, 40_000, 500), Tap(pond=rng.choice(graph.keys)))
        paused = [(0, given), other, (off, Pause(pond=key, name=name)), (on, Resume(pond=key, name=name))]
        taken = [(0, given), other, (off, Calm(pond=key, name=name)), (on, given)]
        assert Play(graph=graph, actions=paused).run().summary() == Play(graph=graph, actions=taken).run().summary(), (
            seed
        )


def test_a_paused_schedule_is_not_heard_and_a_resumed_one_is() -> None:
    driver = Driver(NIGHTLY)
    driver.give(Pause(pond=KEY, name="night"))
    assert not driver.give(Due(pond=KEY, name="night", at=5), at=5)
    assert driver.explain("a")[-1] == Paused([("night", PausedBy.PAUSE)])
    driver.give(Due(pond=KEY, name="noon", at=6), at=6)
    assert driver.started() == [("a.r", 6)], "the other is not paused"
    driver.done("a.r", at=7)
    driver.give(Resume(pond=KEY, name="night"))
    driver.give(Due(pond=KEY, name="night", at=8), at=8)
    assert driver.started() == [("a.r", 8)]


def test_sleep_pauses_schedules_until_wake_and_takes_waves_and_tides_away() -> None:
    driver = Driver(NIGHTLY)
    driver.give(Pause(pond=KEY, name="noon"), Tide(pond=KEY, limit=10, name="t"), Sleep(pond=KEY))
    assert driver.state("a").tides == {}
    assert driver.state("a").paused == {"night": PausedBy.SLEEP, "noon": PausedBy.PAUSE}
    assert not driver.give(Due(pond=KEY, name="night", at=5), at=5)
    driver.give(Wake(pond=KEY), at=6)
    assert driver.state("a").paused == {"noon": PausedBy.PAUSE}, "what was paused by name stays so"


def test_sleep_upstream_pauses_the_schedules_of_everything_above() -> None:
    driver = Driver(NIGHTLY, PondShape.of("b", {"r": ()}, sources={"a": True}))
    driver.give(Sleep(pond=PondKey("b"), upstream=True))
    assert driver.state("a").paused == {"night": PausedBy.SLEEP, "noon": PausedBy.SLEEP}


def test_a_kill_pauses_schedules_and_a_clear_does_not_let_them_ask_again() -> None:
    driver = Driver(NIGHTLY)
    driver.give(Kill(pond=KEY), Clear(pond=KEY))
    assert not driver.give(Due(pond=KEY, name="night", at=5), at=5)
    driver.give(Resume(pond=KEY))
    driver.give(Due(pond=KEY, name="night", at=6), at=6)
    assert driver.started() == [("a.r", 6)]


def test_a_paused_tide_has_no_timer_and_asks_at_once_when_it_was_due_meanwhile() -> None:
    driver = Driver(PondShape.of("a", {"r": ()}))
    driver.give(Tide(pond=KEY, limit=100), at=1)
    driver.done("a.r", at=2)
    driver.give(Pause(pond=KEY, name="tide"))
    assert not driver.give(Tick(pond=KEY), at=500)
    driver.give(Resume(pond=KEY, name="tide"), at=600)
    assert driver.started() == [("a.r", 600)]


def test_a_new_trigger_of_a_paused_name_asks() -> None:
    driver = Driver(PondShape.of("a", {"r": ()}))
    driver.give(Wave(pond=KEY), Pause(pond=KEY), at=1)
    driver.done("a.r", at=2)
    assert not driver.started()
    driver.give(Wave(pond=KEY), at=3)
    assert driver.started() == [("a.r", 3)]
    driver.give(Calm(pond=KEY), at=4)
    driver.give(Pause(pond=KEY, name="wave"), Pause(pond=KEY, name="nothing"))
    assert driver.state("a").paused == {}, "only what stands can be paused"


def test_a_deploy_that_keeps_a_schedule_keeps_it_paused_and_one_that_drops_it_forgets_that() -> None:
    driver = Driver(NIGHTLY)
    driver.give(Pause(pond=KEY))
    driver.deploy(PondShape.of("a", {"r": (), "s": ("r",)}, schedules=["night"]), "2")
    assert driver.state("a").paused == {"night": PausedBy.PAUSE}
    driver.deploy(NIGHTLY, "3")
    assert driver.state("a").paused == {"night": PausedBy.PAUSE}
    assert decode_state(encode_state(driver.state("a"))) == driver.state("a")
