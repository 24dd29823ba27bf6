"""Why a Pond runs or does not: each gate, with its fields, in the order of the rules."""

import msgspec

from pondage.kernel.demand import Occurrences, PondKey, PondShape, Retries
from pondage.kernel.demand.events import Clear, Kill, Pulse, Tap, Tide, Wave
from tests.kernel.demand.driving import Driver

A, B, C = PondKey("a"), PondKey("b"), PondKey("c")


def told(driver: Driver, pond: str) -> object:
    return msgspec.json.decode(msgspec.json.encode(driver.explain(pond)))


def graph(retries: Retries | None = None) -> Driver:
    return Driver(
        PondShape.of("a", {"r": ()}, retries=retries),
        PondShape.of("b", {"x": (), "y": ("x",)}, sources={"a": True}),
        PondShape.of("c", {"r": ()}, sources={"a": False, "b": False}),
    )


def test_a_pond_that_nobody_asks_has_no_demand_and_one_that_is_not_deployed_says_nothing() -> None:
    assert told(graph(), "a") == [{"gate": "no demand"}]
    assert told(graph(), "nowhere") == []


def test_a_pond_with_only_optional_sources_waits_for_any_of_them() -> None:
    driver = graph()
    driver.give(Pulse(pond=C), at=7)
    assert told(driver, "c") == [{"gate": "source", "source": "any", "has": -1, "needs": 7}]


def test_a_running_pond_that_is_asked_again_says_which_root_is_busy() -> None:
    driver = graph()
    driver.give(Pulse(pond=A))
    driver.give(Pulse(pond=A), at=100)
    assert told(driver, "a") == [
        {"gate": "running", "ripples": [["r", 0]], "runs": [0]},
        {"gate": "ripple busy", "ripples": ["r"]},
    ]


def test_a_live_inlet_asked_twice_within_one_unit_waits_for_the_next() -> None:
    driver = graph()
    driver.give(Tap(pond=A))
    driver.done("a.r", at=0)
    driver.give(Tap(pond=A), at=0)
    assert told(driver, "a") == [{"gate": "window", "opens": 1}]
    assert driver.state("a").timer == 1


def test_an_inlet_whose_windows_are_over_says_that_none_opens() -> None:
    driver = Driver(PondShape.of("a", {"r": ()}, calendar=Occurrences([(0, 10)])))
    driver.give(Tap(pond=A), at=20)
    assert told(driver, "a") == [{"gate": "window", "opens": None}]


def test_a_failed_pond_shows_what_is_left_and_what_it_holds() -> None:
    driver = graph(Retries(on_change=2))
    driver.give(Pulse(pond=B))
    driver.fail("a.r", at=0)
    assert told(driver, "a") == [
        {"gate": "failed", "at": 0, "failures": 1, "retries_left": 2},
        {"gate": "window", "opens": 1},
    ]
    driver = graph()
    driver.give(Tap(pond=A))
    driver.fail("a.r", at=1000)
    assert told(driver, "a") == [{"gate": "failed", "at": 0, "failures": 1, "retries_left": 0}, {"gate": "no demand"}]


def test_a_blocked_pond_names_every_failed_and_killed_ancestor() -> None:
    driver = Driver(
        PondShape.of("a", {"r": ()}),
        PondShape.of("b", {"r": ()}),
        PondShape.of("c", {"r": ()}, sources={"b": True, "a": True}),
        PondShape.of("d", {"r": ()}, sources={"c": True}),
    )
    driver.give(Pulse(pond=PondKey("d")))
    driver.fail("a.r", at=1000)
    driver.give(Kill(pond=B))
    assert told(driver, "d") == [
        {"gate": "blocked", "by": ["a", "b"]},
        {"gate": "source", "source": "c", "has": -1, "needs": 0},
    ]
    assert told(driver, "b") == [{"gate": "killed"}]
    driver.give(Clear(pond=B))
    assert told(driver, "c")[0] == {"gate": "blocked", "by": ["a"]}


def test_a_tide_says_when_its_next_target_is_due() -> None:
    driver = graph()
    driver.give(Tide(pond=A, limit=5000), at=1000)
    driver.done("a.r", at=2000)
    assert told(driver, "a") == [{"gate": "no demand"}, {"gate": "tide", "due": 6000}]


def test_a_deploy_that_waits_and_a_source_that_is_missing_are_gates() -> None:
    driver = graph()
    driver.give(Pulse(pond=B))
    driver.done("a.r", at=1000)
    driver.deploy(PondShape.of("b", {"x": ()}, sources={"a": True, "z": True}), "2", at=1500)
    driver.give(Wave(pond=B), at=1600)
    assert told(driver, "b") == [
        {"gate": "running", "ripples": [["x", 0]], "runs": [0]},
        {"gate": "deploying", "definition": "2"},
    ]
    driver.done("b.x", at=2000)
    driver.done("b.y", at=3000)
    gates = told(driver, "b")
    assert gates[0] == {"gate": "blocked", "by": ["z"]}
    assert gates[-1] == {"gate": "not deployed", "source": "z"}


def test_explaining_changes_nothing() -> None:
    driver = graph()
    driver.give(Tide(pond=C, limit=10))
    before = msgspec.json.encode(driver.state("c"))
    driver.explain("c")
    assert msgspec.json.encode(driver.state("c")) == before
