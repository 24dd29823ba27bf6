"""What operators do to a Pond, where the scenario files do not say it."""

import pytest

from pondage.kernel.demand import PondKey, PondShape, Retries
from pondage.kernel.demand.effects import Cancel, Failed, Reason, RunDropped, RunFinished, StartRipple, StartRun
from pondage.kernel.demand.events import Clear, Done, Fail, Force, Kill, Pulse, Sleep, Tap, Wake, Wave
from tests.kernel.demand.driving import Driver

A, B, C = PondKey("a"), PondKey("b"), PondKey("c")


@pytest.fixture
def driver() -> Driver:
    return Driver(
        PondShape.of("a", {"r": ()}),
        PondShape.of("b", {"r": ()}, sources={"a": True}),
        PondShape.of("c", {"r": ()}, sources={"b": True}),
    )


def test_a_pulse_may_ask_for_the_past_but_not_for_the_future(driver: Driver) -> None:
    driver.give(Pulse(pond=C, at=300), at=1000)
    assert driver.state("c").targets == [300]
    driver.give(Pulse(pond=C, at=5000))
    assert driver.state("c").targets == [300, 1000]


def test_a_run_says_what_it_took_and_why_it_started(driver: Driver) -> None:
    driver.give(Tap(pond=B), at=1000)
    driver.done("a.r", at=2000)
    run = next(effect for effect in driver.effects if isinstance(effect, StartRun) and effect.pond == B)
    assert (run.number, run.freshness, run.taken, run.reason) == (1, 1000, {"a": 1000}, Reason.PULL)


def test_each_run_of_a_pond_has_a_number_of_its_own_although_force_repeats_its_freshness(driver: Driver) -> None:
    driver.give(Pulse(pond=B))
    driver.done("a.r", at=1000)
    driver.done("b.r", at=2000)
    driver.give(Force(pond=B), at=3000)
    starts = [effect for effect in driver.effects if isinstance(effect, StartRun | StartRipple)]
    assert [(effect.number, effect.freshness, effect.is_forced) for effect in starts] == [(2, 0, True), (2, 0, True)]
    driver.done("b.r", at=4000)
    finished = [effect for effect in driver.effects if isinstance(effect, RunFinished)]
    assert [(effect.number, effect.is_fresher) for effect in finished] == [(2, False)]
    assert driver.started() == []


def test_force_waits_for_the_active_run_and_then_runs_again(driver: Driver) -> None:
    driver.give(Pulse(pond=A))
    driver.give(Force(pond=A), at=500)
    assert driver.started() == []
    driver.done("a.r", at=1000)
    assert driver.started() == [("a.r", 1000)]


def test_force_runs_even_when_the_run_it_waited_for_fails(driver: Driver) -> None:
    driver.give(Pulse(pond=B))
    driver.done("a.r", at=1000)
    driver.give(Force(pond=B), at=1500)
    driver.fail("b.r", at=2000)
    assert driver.started() == [("b.r", 0)]
    assert not driver.state("b").is_failed


def test_a_wake_is_not_held_while_the_roots_are_busy(driver: Driver) -> None:
    driver.give(Pulse(pond=A))
    driver.give(Wake(pond=A), at=500)
    driver.done("a.r", at=1000)
    assert driver.started() == []


def test_kill_cancels_what_runs_gives_up_its_runs_and_fences_late_reports(driver: Driver) -> None:
    driver.give(Wave(pond=C))
    late = driver.report("a.r")
    effects = driver.give(Kill(pond=A), at=500)
    assert effects[0] == Cancel(pond=A, reason=Reason.KILLED, ripple="r", attempt=1)
    assert effects[1] == RunDropped(pond=A, reason=Reason.KILLED, numbers=(1,), freshnesses=(0,))
    assert [state.is_blocked for state in driver.ponds.states.values()] == [True, True, True]
    assert driver.give(late, at=600) == ()
    driver.give(Clear(pond=A), at=1000)
    assert driver.started() == [("a.r", 1000)]  # the Wave of C asks again by itself
    assert driver.give(late, at=1100) == ()


def test_work_that_is_reported_in_the_instant_of_a_kill_is_completed_first(driver: Driver) -> None:
    driver.give(Pulse(pond=A))
    driver.give(Kill(pond=A), driver.report("a.r"), at=1000)
    assert driver.state("a").end_f == 0
    assert "Cancel" not in driver.kinds()


def test_sleep_upstream_goes_behind_the_demand_that_was_given_before_it_in_the_same_instant(driver: Driver) -> None:
    driver.give(Tap(pond=C), Sleep(pond=C, upstream=True))
    assert driver.started() == []
    assert not any(state.has_pull for state in driver.ponds.states.values())
    driver.give(Sleep(pond=C, upstream=True), Tap(pond=C), at=1000)
    assert driver.started() == [("a.r", 1000)]


def test_sleep_upstream_visits_each_pond_of_a_ladder_of_diamonds_once() -> None:
    shapes = [PondShape.of("s0", {"r": ()})]
    for rung in range(60):
        shapes += [PondShape.of(f"{side}{rung}", {"r": ()}, sources={f"s{rung}": True}) for side in "ab"]
        shapes.append(PondShape.of(f"s{rung + 1}", {"r": ()}, sources={f"a{rung}": True, f"b{rung}": True}))
    driver = Driver(*shapes)
    driver.give(Pulse(pond=PondKey("s60")))
    driver.give(Sleep(pond=PondKey("s60"), upstream=True), at=500)
    assert not any(state.targets for state in driver.ponds.states.values())


def test_an_error_is_handed_on_with_the_failure() -> None:
    driver = Driver(PondShape.of("a", {"r": ()}, retries=Retries(immediately=1)))
    driver.give(Pulse(pond=A))
    (retry,) = driver.give(Fail(pond=A, ripple="r", attempt=1, error="boom"), at=1000)
    assert isinstance(retry, StartRipple)
    assert (retry.attempt, retry.is_retry, retry.reason, retry.freshness) == (2, True, Reason.RETRY, 0)
    driver.give(Fail(pond=A, ripple="r", attempt=2, error="boom again"), at=2000)
    failed = next(effect for effect in driver.effects if isinstance(effect, Failed))
    assert (failed.error, failed.attempt, failed.failures) == ("boom again", 2, 1)


def test_a_report_of_another_attempt_or_an_unknown_ripple_changes_nothing(driver: Driver) -> None:
    driver.give(Pulse(pond=A))
    before = driver.state("a").ripples["r"].attempt
    for attempt in (before - 1, before + 1):
        assert driver.give(Done(pond=A, ripple="r", attempt=attempt)) == ()
    assert driver.give(Done(pond=A, ripple="unknown", attempt=before)) == ()
    assert driver.state("a").ripples["r"].is_busy


def test_a_clock_that_steps_back_lets_a_live_inlet_wait(driver: Driver) -> None:
    driver.give(Pulse(pond=A), at=5000)
    driver.done("a.r", at=6000)
    driver.give(Tap(pond=A), at=4000)
    assert driver.started() == []
    assert driver.state("a").timer == 5001
    driver.give(Tap(pond=A), at=5001)
    assert driver.started() == [("a.r", 5001)]


def test_a_want_that_an_older_run_than_the_latest_already_served_asks_nobody() -> None:
    driver = Driver(
        PondShape.of("a", {"r": ()}),
        PondShape.of("b", {"r": ()}, sources={"a": True}),
        PondShape.of("c", {"r": ()}, sources={"b": True}),
    )
    driver.give(Pulse(pond=C))
    driver.done("a.r", at=1000)
    driver.done("b.r", at=2000)  # c runs for long at 0
    for at in (3000, 6000):
        driver.give(Pulse(pond=B), at=at)
        driver.done("a.r", at=at + 1000)
        assert driver.started() == [("b.r", at)]
        if at == 3000:
            driver.done("b.r", at=5000)
    driver.give(Tap(pond=C), at=8000)
    assert driver.state("c").has_pull  # b published 3000 meanwhile: that is what c takes next
    assert driver.started() == []
    driver.done("c.r", at=9000)
    assert ("c.r", 3000) in driver.started()


def test_an_optional_source_that_ignored_a_pull_while_it_was_blocked_is_asked_by_the_next_one() -> None:
    driver = Driver(
        PondShape.of("a", {"r": ()}),
        PondShape.of("z", {"r": ()}),
        PondShape.of("b", {"r": ()}, sources={"a": True, "z": False}),
    )
    driver.give(Pulse(pond=PondKey("z")))
    driver.fail("z.r", at=100)
    driver.give(Kill(pond=PondKey("z")))  # forget the Pulse, stay blocked
    driver.give(Tap(pond=B), at=1000)
    driver.done("a.r", at=2000)
    driver.give(driver.report("a.r"), driver.report("b.r"), at=3000)
    driver.give(Clear(pond=PondKey("z")), at=4000)
    assert driver.started() == []
    driver.give(Tap(pond=B), at=5000)
    assert ("z.r", 5000) in driver.started()


def test_sinks_hear_nothing_of_a_repeated_run(driver: Driver) -> None:
    driver.give(Pulse(pond=B))
    driver.done("a.r", at=1000)
    driver.done("b.r", at=2000)
    driver.give(Force(pond=B), at=3000)
    driver.done("b.r", at=4000)
    assert driver.state("c").arrived_at == 2000


def test_verbs_behind_a_sleep_upstream_hold_although_they_come_in_the_same_instant(driver: Driver) -> None:
    driver.give(Pulse(pond=C), Sleep(pond=C, upstream=True), Wave(pond=A), at=1000)
    assert driver.state("a").wave is not None
    assert driver.started() == [("a.r", 1000)]
    assert [driver.state(name).targets for name in "abc"] == [[], [], []], "the Pulse before it is forgotten everywhere"
