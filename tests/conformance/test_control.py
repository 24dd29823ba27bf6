"""The shipped control scenarios, through the machine and through the command; a wrong expectation fails.

`own_control.json` holds scenarios of our own, in the same form, for rules that the shipped ones leave out.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from pondage.cli.operate.conform import conform
from pondage.conform.control import check_control
from pondage.conform.control_scenario import ControlScenario, read_control_scenarios
from pondage.simulate.control_virtual import VirtualControlHost

FILE = Path(__file__).parents[2] / "conformance" / "control.json"
SCENARIOS = [*read_control_scenarios(FILE), *read_control_scenarios(Path(__file__).parent / "own_control.json")]
RAW: list[dict[str, Any]] = msgspec.json.decode(FILE.read_bytes())


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_the_virtual_host_does_what_the_scenario_says(scenario: ControlScenario) -> None:
    assert check_control(scenario, VirtualControlHost).mismatches == []


def passes(raw: dict[str, Any]) -> bool:
    return check_control(msgspec.convert(raw, ControlScenario), VirtualControlHost).has_passed


@pytest.mark.parametrize(
    "raw", [raw for raw in RAW if raw["id"] not in ("CF-077", "CF-094")], ids=lambda raw: raw["id"]
)
def test_a_wrong_expectation_fails(raw: dict[str, Any]) -> None:
    wrong = []
    for part in ("timeline", "run2_timeline"):
        for place, (_, events) in list(enumerate(raw.get(part) or []))[::2]:
            missing = copy.deepcopy(raw)
            missing[part][place][1].pop(len(events) // 2)
            late = copy.deepcopy(raw)
            late[part][place][0] += 1000
            wrong += [missing, late]
    for part in ("states", "globals"):
        for name in list(raw.get(part) or {})[:2]:
            other = copy.deepcopy(raw)
            other[part][name] = "another"
            wrong.append(other)
    if raw.get("job_state"):
        wrong += [{**raw, "job_state": "OTHER"}, {**raw, "code": "OTHER"}]
    if raw.get("error"):
        wrong += [{**raw, "error": {**raw["error"], key: "OTHER"}} for key in ("code", "path")]
    assert wrong
    for one in wrong:
        assert not passes(one)


def test_the_order_inside_a_scope_matters_and_the_interleaving_of_scopes_does_not() -> None:
    raw = next(one for one in RAW if one["id"] == "CF-042")
    swapped = copy.deepcopy(raw)
    events = swapped["timeline"][2][1]
    at = events.index("b OK")
    swapped["timeline"][2][1] = [*events[at:], *events[:at]]  # the branch b before the branch a
    assert passes(swapped)
    swapped["timeline"][2][1] = [*events[:at], *reversed(events[at:])]
    assert not passes(swapped)


def test_the_command_counts_reports_and_chooses(tmp_path: Path) -> None:
    runner = CliRunner()
    assert runner.invoke(conform, ["control", str(FILE)]).output.endswith("84 passed, 0 failed\n")
    assert runner.invoke(conform, ["control", str(FILE), "--only", "CF-001"]).output == "1 passed, 0 failed\n"
    assert runner.invoke(conform, ["control", str(FILE), "--only", "nope"]).exit_code == 2
    wrong = tmp_path / "wrong.json"
    wrong.write_bytes(msgspec.json.encode([{**RAW[0], "job_state": "ERROR"}]))
    result = runner.invoke(conform, ["control", str(wrong), "--json"])
    assert result.exit_code == 1
    assert msgspec.json.decode(result.output)["failed"] == 1
