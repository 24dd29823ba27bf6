"""Reading scenario files strictly, and comparing everything that they expect."""

import copy
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pondage.conform.demand import check
from pondage.conform.demand_scenario import Scenario, ScenarioError, read_scenarios
from pondage.simulate.virtual import VirtualHost

GOOD: dict[str, Any] = {
    "id": "T-1",
    "graph": {
        "ponds": {
            "A": {"sources": {}, "ripples": {"a": {"parents": [], "duration": 1000}}},
            "B": {"sources": {"A": "required"}, "ripples": {"b": {"parents": [], "duration": 1000}}},
        }
    },
    "order": "batch",
    "actions": [[0, "pulse", "B"]],
    "faults": [],
    "until": 5000,
    "expect": {"runs": {"A": 1, "B": 1}},
}


def changed(*path: str | int, value: object) -> dict[str, Any]:
    given = copy.deepcopy(GOOD)
    inner: Any = given
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    return given


def written(tmp_path: Path, *scenarios: object) -> Path:
    path = tmp_path / "scenarios.json"
    path.write_bytes(msgspec.json.encode(list(scenarios)))
    return path


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (changed("order", value="sometimes"), "T-1: order is 'sometimes'"),
        (changed("actions", 0, value=[0, "pull", "B"]), r"T-1: actions\[0\]"),
        (changed("actions", 0, value=[0, "tide", "B"]), r"T-1: actions\[0\]"),
        (changed("actions", 0, value=[0, "tap", "B", "twice"]), r"T-1: actions\[0\]"),
        (changed("actions", 0, value=["0", "tap", "B"]), r"T-1: actions\[0\]"),
        (changed("options", value={"speed": 2}), "T-1: unknown options speed"),
        (changed("extra", value=1), r"T-1 \(number 1\): Object contains unknown field `extra`"),
        (changed("expect", value={"rans": {}}), "unknown field `rans`"),
        (changed("graph", "ponds", "A", "sources", value={"Z": "required"}), "unknown source Z"),
        (changed("graph", "ponds", "B", "sources", "A", value="maybe"), "source A of B is 'maybe'"),
        (changed("graph", "ponds", "A", "ripples", "a", "parents", value=["x"]), "unknown parent x"),
        (changed("graph", "ponds", "A", "ripples", "a", "duration", value=-1), "duration"),
        (changed("graph", "ponds", "A", "windows", value=[[5, 1]]), r"window \[5, 1\) is empty"),
        (changed("faults", value=[{"pond": "A", "ripple": "x", "always": True}]), "unknown ripple A.x"),
        (changed("faults", value=[{"pond": "A", "ripple": "a"}]), "neither when nor always"),
        ("text", "number 1"),
    ],
)
def test_a_wrong_scenario_is_refused_with_its_place(tmp_path: Path, given: object, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        read_scenarios(written(tmp_path, given))


def test_a_file_that_is_missing_no_json_or_names_a_scenario_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot read"):
        read_scenarios(tmp_path / "nowhere.json")
    (tmp_path / "bad.json").write_text("[{")
    with pytest.raises(ScenarioError, match="not a JSON list"):
        read_scenarios(tmp_path / "bad.json")
    with pytest.raises(ScenarioError, match="T-1 is there twice"):
        read_scenarios(written(tmp_path, GOOD, GOOD))


def mutations(value: Any, rng: random.Random, filler: object = 5) -> Any:
    """Change one thing somewhere inside, so that it means something else; an empty list gets `filler`."""
    match value:
        case bool():
            return not value
        case int():
            return value + rng.choice([-1, 1])
        case None:
            return 0
        case str():
            return value + "x"
        case []:
            return [filler]
        case list():
            place = rng.randrange(len(value))
            return [*value[:place], mutations(value[place], rng, filler), *value[place + 1 :]]
        case {"gate": _, **rest} if rest and rng.random() < 0.7:
            key = rng.choice(sorted(rest))
            return {**value, key: mutations(value[key], rng, filler)}
        case dict() if value:
            key = rng.choice(sorted(value))
            return {**value, key: mutations(value[key], rng, filler)}
    return {"Z": [filler] if isinstance(filler, list) else 5}


def parts(scenario: Scenario) -> list[str]:
    return [part for part, value in msgspec.structs.asdict(scenario.expect).items() if value is not None]


def test_a_scenario_with_a_wrong_expectation_fails_whatever_part_of_it_is_wrong() -> None:
    rng = random.Random(4)
    for scenario in read_scenarios(Path(__file__).parents[2] / "conformance" / "demand.json"):
        for part in parts(scenario):
            given = msgspec.json.decode(msgspec.json.encode(scenario))
            if part == "explain":
                at = rng.randrange(len(given["expect"]["explain"]))
                given["expect"]["explain"][at][2] = mutations(given["expect"]["explain"][at][2], rng)
            else:
                filler = [5, 5] if part in ("starts", "completed") else 5
                given["expect"][part] = mutations(given["expect"][part], rng, filler)
            verdict = check(msgspec.convert(given, Scenario), VirtualHost)
            assert not verdict.has_passed, (scenario.id, part)
            assert verdict.mismatches[0].what.startswith(part), (scenario.id, part)


def test_an_entry_that_is_missing_from_an_expectation_fails_too() -> None:
    verdict = check(msgspec.convert(changed("expect", "runs", value={"A": 1}), Scenario), VirtualHost)
    assert [(found.what, found.expected, found.got) for found in verdict.mismatches] == [("runs of B", None, 1)]


def test_a_pond_that_does_not_exist_is_ignored_as_an_action_and_fails_as_an_expectation() -> None:
    given = changed("expect", "runs", value={"A": 1, "B": 1, "Z": 0})
    given["actions"].append([0, "tap", "Z"])
    verdict = check(msgspec.convert(given, Scenario), VirtualHost)
    assert [found.what for found in verdict.mismatches] == ["runs of Z"]
