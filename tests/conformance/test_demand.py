"""The shipped demand scenarios, through the machine and through the command."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from pondage.cli.operate.conform import conform
from pondage.conform.demand import check
from pondage.conform.demand_scenario import Scenario, read_scenarios
from pondage.simulate.virtual import VirtualHost

FILE = Path(__file__).parents[2] / "conformance" / "demand.json"
SCENARIOS = read_scenarios(FILE)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_the_virtual_host_does_what_the_scenario_says(scenario: Scenario) -> None:
    assert check(scenario, VirtualHost).mismatches == []


def run(*arguments: object) -> Result:
    return CliRunner().invoke(conform, ["demand", *map(str, arguments)])


def wrong_file(tmp_path: Path) -> Path:
    given = msgspec.json.decode(FILE.read_bytes())[:3]
    given[1]["expect"]["runs"]["A"] = 99
    path = tmp_path / "wrong.json"
    path.write_bytes(msgspec.json.encode(given))
    return path


def test_the_command_counts_what_passed() -> None:
    result = run(FILE)
    assert (result.exit_code, result.output) == (0, f"{len(SCENARIOS)} passed, 0 failed\n")


def test_the_command_shows_expected_and_got_and_exits_1(tmp_path: Path) -> None:
    result = run(wrong_file(tmp_path))
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "FAILED DM-002 second Tap advances every Pond by one (order: batch 0)",
        "  runs of A",
        "    expected 99",
        "    got      4",
        "2 passed, 1 failed",
    ]


def test_the_command_runs_one_scenario_and_several_files(tmp_path: Path) -> None:
    assert run(FILE, "--only", "DM-125").output == "1 passed, 0 failed\n"
    assert run(wrong_file(tmp_path), "--only", "DM-001").exit_code == 0
    assert run(FILE, wrong_file(tmp_path)).output.endswith(f"{len(SCENARIOS) + 2} passed, 1 failed\n")
    missing = run(FILE, "--only", "DM-999")
    assert (missing.exit_code, "no scenario has the id DM-999" in missing.output) == (2, True)


def test_the_command_reports_as_json(tmp_path: Path) -> None:
    result = run(wrong_file(tmp_path), "--json")
    report = msgspec.json.decode(result.output)
    assert result.exit_code == 1
    assert (report["passed"], report["failed"]) == (2, 1)
    assert report["scenarios"][1]["mismatches"] == [{"order": "batch 0", "what": "runs of A", "expected": 99, "got": 4}]


def test_a_file_that_cannot_be_used_is_named_and_the_command_exits_2(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text('[{"id": "X-1"}]')
    result = run(path)
    assert result.exit_code == 2
    assert f"error[SCENARIO]: {path}: scenario X-1 (number 1): Object missing required field" in result.output
    assert run(tmp_path / "nowhere.json").exit_code == 2
