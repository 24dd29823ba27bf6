"""Deploying over live state: Runs finish on the definition they started with; nothing is lost and nothing is made."""

from pondage.kernel.demand import PondKey, PondShape
from pondage.kernel.demand.effects import Cancel, Deployed, RunDropped, RunFinished, StartRun
from pondage.kernel.demand.events import Deploy, Force, Pulse, Remove, Rollback, Tap, Wave
from tests.kernel.demand.driving import Driver

A, B, C = PondKey("a"), PondKey("b"), PondKey("c")


def a_and_b(ripples: dict[str, tuple[str, ...]] | None = None) -> Driver:
    return Driver(
        PondShape.of("a", {"r": ()}), PondShape.of("b", ripples or {"x": (), "y": ("x",)}, sources={"a": True})
    )


def test_a_deploy_makes_no_demand() -> None:
    driver = a_and_b()
    driver.give(Pulse(pond=B))
    driver.done("a.r", at=1000)
    driver.done("b.x", at=2000)
    driver.done("b.y", at=3000)
    driver.deploy(PondShape.of("b", {"x": (), "z": ("x",)}, sources={"a": True}), "2", at=4000)
    assert driver.kinds() == ["Deployed"]


def test_active_runs_finish_on_their_definition_and_no_new_run_starts_meanwhile() -> None:
    driver = a_and_b()
    driver.give(Wave(pond=B))
    driver.done("a.r", at=1000)
    driver.deploy(PondShape.of("b", {"x": (), "z": ("x",)}, sources={"a": True}), "2", at=1500)
    assert driver.state("b").definition == "1"
    driver.done("a.r", at=2000)
    driver.done("b.x", at=2100)
    assert driver.started() == [("b.y", 0)]  # the former definition goes on; a Run of the new freshness would be due
    driver.done("b.y", at=3000)
    kinds = driver.kinds()
    assert kinds.index("RunFinished") < kinds.index("Deployed") < kinds.index("StartRun")
    assert set(driver.state("b").ripples) == {"x", "z"}
    assert ("b.x", 1000) in driver.started()


def test_ripples_kept_by_name_keep_their_state_and_new_ones_start_at_never() -> None:
    driver = a_and_b()
    driver.give(Pulse(pond=B))
    driver.done("a.r", at=1000)
    driver.done("b.x", at=2000)
    driver.done("b.y", at=3000)
    driver.deploy(PondShape.of("b", {"x": (), "z": ("x",)}, sources={"a": True}), "2", at=4000)
    ripples = driver.state("b").ripples
    assert (ripples["x"].end_f, ripples["x"].estimate, ripples["z"].end_f) == (0, 1000, -1)
    driver.give(Pulse(pond=B), at=5000)
    driver.done("a.r", at=6000)
    driver.done("b.x", at=7000)
    driver.done("b.z", at=8000)
    assert driver.state("b").end_f == 5000


def test_the_latest_of_several_waiting_deploys_wins_and_an_unknown_one_is_ignored() -> None:
    driver = a_and_b({"x": ()})
    driver.give(Pulse(pond=B))
    driver.done("a.r", at=1000)
    driver.deploy(PondShape.of("b", {"y": ()}, sources={"a": True}), "2")
    driver.deploy(PondShape.of("b", {"z": ()}, sources={"a": True}), "3")
    driver.give(Deploy(pond=B, definition="no such"))
    driver.done("b.x", at=2000)
    assert [effect.definition for effect in driver.effects if isinstance(effect, Deployed)] == ["3"]


def test_a_sink_may_be_deployed_before_its_source_and_sends_its_demand_when_it_appears() -> None:
    driver = Driver(PondShape.of("b", {"r": ()}, sources={"a": True}))
    assert driver.state("b").is_blocked
    driver.give(Wave(pond=B), at=1000)
    driver.deploy(PondShape.of("a", {"r": ()}), "1", at=2000)
    assert not driver.state("b").is_blocked
    assert driver.started() == [("a.r", 2000)]
    driver.done("a.r", at=3000)
    assert ("b.r", 2000) in driver.started()


def test_an_optional_source_that_is_missing_blocks_nobody_and_is_asked_when_it_appears() -> None:
    driver = Driver(PondShape.of("a", {"r": ()}), PondShape.of("b", {"r": ()}, sources={"a": True, "z": False}))
    driver.give(Tap(pond=B))
    driver.deploy(PondShape.of("z", {"r": ()}), "1", at=500)
    assert driver.started() == [("z.r", 500)]


def test_a_new_source_gives_what_it_has_at_once() -> None:
    driver = Driver(PondShape.of("a", {"r": ()}), PondShape.of("c", {"r": ()}))
    driver.give(Pulse(pond=A), Pulse(pond=C))
    driver.give(driver.report("a.r"), driver.report("c.r"), at=1000)
    driver.deploy(PondShape.of("b", {"r": ()}, sources={"a": True}), "1", at=2000)
    driver.give(Tap(pond=B), at=3000)
    assert ("b.r", 0) in driver.started()
    driver.done("b.r", at=4000)
    driver.deploy(PondShape.of("b", {"r": ()}, sources={"a": True, "c": True}), "2", at=5000)
    assert driver.state("b").sources[C].end_f == 0
    assert driver.kinds() == ["Deployed"]


def test_held_demand_goes_to_a_source_that_a_deploy_adds() -> None:
    driver = Driver(
        PondShape.of("a", {"r": ()}), PondShape.of("c", {"r": ()}), PondShape.of("b", {"r": ()}, sources={"a": True})
    )
    driver.give(Pulse(pond=B))
    driver.deploy(PondShape.of("b", {"r": ()}, sources={"a": True, "c": True}), "2", at=500)
    assert driver.started() == [("c.r", 500)]


def test_a_removed_source_is_not_deployed_for_its_sinks_until_it_comes_back() -> None:
    driver = a_and_b({"x": ()})
    driver.give(Pulse(pond=B))
    effects = driver.give(Remove(pond=A), at=500)
    assert [type(effect) for effect in effects][:2] == [Cancel, RunDropped]
    assert driver.state("b").is_blocked
    assert not driver.state("b").sources[A].is_deployed
    assert A not in driver.ponds.states
    driver.deploy(PondShape.of("a", {"r": ()}), "1", at=2000)
    assert driver.started() == [("a.r", 2000)]
    driver.done("a.r", at=3000)
    driver.done("b.x", at=4000)
    assert driver.state("b").targets == []


def test_a_rollback_is_a_run_of_its_own_at_the_same_freshness_that_executes_nothing() -> None:
    driver = a_and_b({"x": ()})
    driver.give(Pulse(pond=B))
    driver.done("a.r", at=1000)
    driver.done("b.x", at=2000)
    start, finish = driver.give(Rollback(pond=A, run="run-17"), at=3000)
    assert isinstance(start, StartRun)
    assert isinstance(finish, RunFinished)
    assert (start.number, start.freshness, start.rollback) == (2, 0, "run-17")
    assert (finish.number, finish.is_fresher, finish.rollback) == (2, False, "run-17")
    assert driver.give(Rollback(pond=C, run="run-17")) == ()


def test_a_rollback_waits_for_the_active_run() -> None:
    driver = a_and_b({"x": ()})
    driver.give(Pulse(pond=A))
    assert driver.give(Rollback(pond=A, run="7"), at=500) == ()
    driver.done("a.r", at=1000)
    assert driver.kinds() == ["RunFinished", "StartRun", "RunFinished"]


def test_a_forced_run_of_a_pond_with_a_staler_new_source_first_lets_it_catch_up() -> None:
    driver = Driver(
        PondShape.of("a", {"r": ()}), PondShape.of("c", {"r": ()}), PondShape.of("b", {"r": ()}, sources={"a": True})
    )
    driver.give(Pulse(pond=B), at=1000)
    driver.done("a.r", at=2000)
    driver.done("b.r", at=3000)
    driver.deploy(PondShape.of("b", {"r": ()}, sources={"a": True, "c": True}), "2", at=4000)
    driver.give(Force(pond=B), at=5000)
    assert driver.started() == [("c.r", 5000)]
    driver.done("c.r", at=6000)
    assert driver.started() == [("b.r", 1000)]
