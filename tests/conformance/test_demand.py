"""The shipped demand scenarios, through the machine and through the command.

`own_demand.json` holds scenarios of our own for triggers that follow their readers. Times are microseconds there, and
345600 s is a Monday. `[t, "follow", pond, "wave" | name, limit?, zone?, "resting"?]` gives one, `[t, "read", pond]` is
a reader, and `resting` names the triggers that rest at the end.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from pondage.cli.operate.conform import conform
from pondage.conform.demand import check
from pondage.conform.demand_durable import LedgerHost as DurableHost
from pondage.conform.demand_scenario import Scenario, ScenarioError, read_scenarios
from pondage.simulate.host import Host
from pondage.simulate.virtual import VirtualHost
from tests.kernel.demand.rules import RulesHost

FILE = Path(__file__).parents[2] / "conformance" / "demand.json"
SCENARIOS = read_scenarios(FILE)


OWN = read_scenarios(Path(__file__).parent / "own_demand.json")


@pytest.mark.parametrize("scenario", OWN, ids=lambda scenario: scenario.id)
@pytest.mark.parametrize("host", [VirtualHost, DurableHost, RulesHost])
def test_triggers_follow_their_readers_on_both_hosts_and_by_the_rules_written_down(
    scenario: Scenario, host: Callable[[], Host]
) -> None:
    if host is RulesHost:  # explanations are the machine's
        scenario = msgspec.structs.replace(scenario, expect=msgspec.structs.replace(scenario.expect, explain=None))
    assert check(scenario, host).mismatches == []


@pytest.mark.parametrize(
    "action",
    [
        [0, "follow", "A", "tide"],
        [0, "follow", "A", "wave", 5],
        [0, "follow", "A", "tide", 5, "Moon/Crater"],
        [0, "follow", "A", "tide", 5, "UTC", "Europe/Berlin"],
        [0, "read", "A", 5],
    ],
)
def test_a_reader_who_is_written_wrongly_is_refused(action: list[int | str]) -> None:
    with pytest.raises(ScenarioError):
        msgspec.structs.replace(OWN[0], actions=[action]).verbs()


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
