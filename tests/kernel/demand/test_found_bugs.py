"""Defects that a fuzz found, in a prototype of the rules or in this machine; each stays as the smallest case."""

from pondage.kernel.demand import Occurrences, PondShape, Retries
from pondage.kernel.demand.effects import RunFinished, StartRipple
from pondage.kernel.demand.events import Clear, Fail, Force, Pulse, Sleep, Tap, Tick, Tide
from pondage.kernel.demand.shape import PondKey
from tests.kernel.demand.driving import Driver

P, Q, R = PondKey("p"), PondKey("q"), PondKey("r")


def inlet(name: str, ripples: dict[str, tuple[str, ...]] | None = None, retries: Retries | None = None) -> PondShape:
    return PondShape.of(name, ripples or {"r": ()}, retries=retries)


def test_a_ripple_that_failed_is_offered_to_a_newer_run_in_flight() -> None:
    driver = Driver(inlet("p", {"x": (), "y": ("x",)}))
    driver.give(Pulse(pond=P))
    driver.give(driver.report("p.x"), Pulse(pond=P), at=1000)
    assert driver.started() == [("p.y", 0), ("p.x", 1000)]
    driver.done("p.x", at=2000)
    assert driver.started() == []
    driver.fail("p.y", at=2500)
    assert driver.started() == [("p.y", 1000)]
    driver.done("p.y", at=3000)
    assert driver.state("p").end_f == 1000
    assert not driver.state("p").is_failed


def test_a_forced_run_at_a_failed_freshness_waits_only_for_the_ripples_that_have_not_finished_it() -> None:
    source = inlet("p")
    driver = Driver(source, PondShape.of("q", {"x": (), "y": ("x",)}, sources={"p": True}))
    driver.give(Pulse(pond=Q))
    driver.done("p.r", at=1000)
    driver.done("q.x", at=2000)
    driver.fail("q.y", at=3000)
    driver.give(Force(pond=Q), at=4000)
    assert driver.started() == [("q.y", 0)]
    driver.done("q.y", at=5000)
    assert driver.state("q").end_f == 0
    assert driver.state("q").active == []


def test_two_runs_that_finish_in_one_instant_are_one_completed_run_whatever_report_came_first() -> None:
    shape = inlet("p", {"x": (), "y": (), "z": ("x", "y")})
    for turned in (False, True):
        driver = Driver(shape)
        driver.give(Pulse(pond=P))
        driver.done("p.x", at=900)
        driver.give(driver.report("p.y"), Pulse(pond=P), at=1000)
        assert driver.started() == [("p.z", 0), ("p.x", 1000), ("p.y", 1000)]
        driver.fail("p.z", at=1500)
        driver.give(Clear(pond=P), at=1600)
        reports = [driver.report("p.x"), driver.report("p.y")]
        driver.give(*(reversed(reports) if turned else reports), at=2000)
        assert driver.started() == [("p.z", 1000)]
        driver.done("p.z", at=3000)
        finished = [effect for effect in driver.effects if isinstance(effect, RunFinished)]
        assert [(effect.freshness, effect.subsumed) for effect in finished] == [(1000, ())]


def test_a_run_that_a_later_one_overtakes_in_the_same_report_is_subsumed() -> None:
    driver = Driver(inlet("p", {"x": (), "y": ("x",)}))
    driver.give(Pulse(pond=P))
    driver.give(driver.report("p.x"), Pulse(pond=P), at=1000)
    driver.give(driver.report("p.x"), Pulse(pond=P), at=2000)  # y is still busy with the first Run
    driver.done("p.x", at=3000)
    driver.done("p.y", at=4000)
    assert driver.started() == [("p.y", 2000)]
    driver.done("p.y", at=5000)
    finished = [effect for effect in driver.effects if isinstance(effect, RunFinished)]
    assert [(effect.number, effect.freshness, effect.subsumed) for effect in finished] == [(3, 2000, (2,))]


def test_push_demand_to_an_only_optional_source_that_was_blocked_is_sent_again() -> None:
    driver = Driver(inlet("p"), PondShape.of("q", {"r": ()}, sources={"p": False}))
    driver.give(Pulse(pond=P))
    driver.fail("p.r", at=1000)
    driver.give(Pulse(pond=Q), at=2000)
    assert driver.state("q").targets == [2000]
    assert driver.state("p").targets == [0]
    driver.give(Clear(pond=P), at=3000)
    assert driver.state("p").targets == [0, 2000]
    driver.done("p.r", at=4000)
    driver.done("q.r", at=5000)
    assert driver.state("q").targets == []


def test_a_tide_is_decided_on_the_settled_state_of_the_instant() -> None:
    """The update that starts a Run and the due time fall together: the Run's freshness must count before the Tide."""
    driver = Driver(inlet("p"), PondShape.of("q", {"r": ()}, sources={"p": True}))
    driver.give(Tide(pond=Q, limit=1000))
    assert driver.state("q").targets == [0]
    driver.done("p.r", at=1000)
    # Decided before the start, the target of 0 would still be under way and nothing would be emitted.
    assert driver.state("q").start_f == 0
    assert driver.state("q").targets == [0, 1000]
    assert driver.started() == [("q.r", 0), ("p.r", 1000)]


def test_two_ripples_that_fail_together_share_the_retry_budget_whatever_report_came_first() -> None:
    shape = inlet("p", {"x": (), "y": ()}, Retries(immediately=1))
    outcomes = []
    for turned in (False, True):
        driver = Driver(shape)
        driver.give(Pulse(pond=P))
        fails = [Fail(pond=P, ripple=name, attempt=1) for name in ("x", "y")]
        driver.give(*(reversed(fails) if turned else fails), at=1000)
        outcomes.append([effect for effect in driver.effects if isinstance(effect, StartRipple)])
        assert driver.state("p").failures == 1
    assert outcomes[0] == outcomes[1]


def test_a_want_of_what_was_last_published_is_accepted_after_two_failed_runs_and_a_clear() -> None:
    """`prev` named the first failed start; without rolling it back, the Sink's Want counted as served for ever."""
    driver = Driver(inlet("p", retries=Retries(on_change=1)), PondShape.of("q", {"r": ()}, sources={"p": True}))
    driver.give(Pulse(pond=Q))
    driver.done("p.r", at=500)
    driver.done("q.r", at=900)
    driver.give(Pulse(pond=P), at=1000)
    driver.fail("p.r", at=2000)
    driver.fail("p.r", at=3000)
    driver.give(Sleep(pond=P), Clear(pond=P), at=4000)
    assert driver.started() == []
    driver.give(Tap(pond=Q), at=5000)
    assert driver.started() == [("p.r", 5000)]


def test_a_tap_after_sleep_travels_through_the_ripples_again() -> None:
    """The Ripples remembered what they had told their parents, so the second Tap stopped at the leaf."""
    windows = Occurrences([(10000, 20000)])
    driver = Driver(PondShape.of("p", {"x": (), "y": ("x",)}, calendar=windows))
    driver.give(Tap(pond=P))
    driver.give(Sleep(pond=P), at=1000)
    assert not driver.state("p").has_pull
    driver.give(Tap(pond=P), at=2000)
    assert driver.state("p").has_pull


def test_a_tap_after_every_ripple_was_renamed_reaches_the_new_roots() -> None:
    """A new Ripple has started nothing; "fresher than nothing" would have been met by what the Pond had published."""
    for renamed in ({"u": (), "v": ("u",)}, {"u": ()}):
        driver = Driver(inlet("p", {"x": (), "y": ("x",)}))
        driver.give(Pulse(pond=P), at=1000)
        driver.done("p.x", at=2000)
        driver.done("p.y", at=3000)
        driver.deploy(inlet("p", renamed), "2", at=4000)
        driver.give(Tap(pond=P), at=5000)
        assert driver.started() == [("p.u", 5000)]


def test_a_new_source_that_is_staler_than_its_sink_is_asked_for_a_target_and_not_for_one_more_run() -> None:
    """It would run once, stay below the Sink's freshness, and never be asked again."""
    windows = Occurrences([(0, 60000)])
    wide = PondShape.of("p", {"r": ()}, calendar=windows)
    driver = Driver(wide, inlet("q"), PondShape.of("r", {"r": ()}, sources={"p": True}))
    driver.give(Pulse(pond=R), Pulse(pond=Q))
    driver.give(driver.report("p.r"), driver.report("q.r"), at=1000)
    driver.done("r.r", at=2000)
    assert driver.state("r").end_f == 60000
    driver.deploy(PondShape.of("r", {"r": ()}, sources={"q": True}), "2", at=3000)
    driver.give(Tap(pond=R), at=4000)
    assert driver.started() == []
    assert driver.state("q").targets == [60001]
    driver.give(Tick(pond=Q), at=60001)
    assert driver.started() == [("q.r", 60001)]
    driver.done("q.r", at=61000)
    assert ("r.r", 60001) in driver.started()
