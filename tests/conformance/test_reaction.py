"""The shipped reaction scenarios, through the machine and through the command."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from pondage.cli.operate.conform import conform
from pondage.conform.reaction import check_reaction
from pondage.conform.reaction_durable import JournalReactorHost
from pondage.conform.reaction_host import VirtualReactorHost
from pondage.conform.reaction_scenario import ReactionScenario, read_reaction_scenarios

FILE = Path(__file__).parents[2] / "conformance" / "reaction.json"
OWN = Path(__file__).parent / "own_reaction.json"
"""Rules of the specification that no shipped scenario plays."""
SHIPPED = read_reaction_scenarios(FILE)
SCENARIOS = [*SHIPPED, *read_reaction_scenarios(OWN)]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_the_virtual_host_does_what_the_scenario_says(scenario: ReactionScenario) -> None:
    assert check_reaction(scenario, VirtualReactorHost).mismatches == []


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_the_live_host_on_a_real_journal_does_what_the_scenario_says(scenario: ReactionScenario) -> None:
    assert check_reaction(scenario, JournalReactorHost).mismatches == []


@pytest.mark.parametrize("scenario", SHIPPED, ids=lambda scenario: scenario.id)
def test_a_wrong_expectation_fails_in_every_part(scenario: ReactionScenario) -> None:
    expect = msgspec.to_builtins(scenario.expect)
    for part, value in expect.items():
        wrong = {**value, "fires": 99} if part == "state" else [*value, [1, "nobody", "nothing", 0]]
        if part == "ids":
            wrong = [*value, [99, 1]]
        changed = msgspec.convert({**msgspec.to_builtins(scenario), "expect": {part: None}}, ReactionScenario)
        setattr(changed.expect, part, wrong)
        assert not check_reaction(changed, VirtualReactorHost).has_passed, part


def run(*arguments: object) -> Result:
    return CliRunner().invoke(conform, ["reaction", *map(str, arguments)])


def wrong_file(tmp_path: Path) -> Path:
    given = msgspec.json.decode(FILE.read_bytes())[:3]
    given[1]["expect"]["fires"][0][1]["a"] = 99
    path = tmp_path / "wrong.json"
    path.write_bytes(msgspec.json.encode(given))
    return path


def test_the_command_counts_what_passed() -> None:
    for host in ("virtual", "ledger"):
        result = run(FILE, OWN, "--host", host)
        assert (result.exit_code, result.output) == (0, f"{len(SCENARIOS)} passed, 0 failed\n")


def test_the_command_shows_expected_and_got_and_exits_1(tmp_path: Path) -> None:
    result = run(wrong_file(tmp_path))
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "FAILED RX-003 WhenAll: a=>0, b=>1, a=>1, b=>2",
        "  fires[0]",
        '    expected [[20,{"a":99,"b":1},"when_all","ok"]]',
        '    got      [[20,{"a":1,"b":1},"when_all","ok"]]',
        "2 passed, 1 failed",
    ]
    report = msgspec.json.decode(run(wrong_file(tmp_path), "--json").output)
    assert (report["passed"], report["failed"], report["scenarios"][1]["id"]) == (2, 1, "RX-003")


def test_the_command_runs_one_scenario_and_names_what_it_cannot_use(tmp_path: Path) -> None:
    assert run(FILE, "--only", "RX-103").output == "1 passed, 0 failed\n"
    missing = run(FILE, "--only", "RX-999")
    assert (missing.exit_code, "no scenario has the id RX-999" in missing.output) == (2, True)
    path = tmp_path / "bad.json"
    path.write_text('[{"id": "X-1", "reactor": {"sources": {}}, "events": [["explode"]], "until": 1, "expect": {}}]')
    result = run(path)
    assert result.exit_code == 2
    assert "X-1: events[0] has no time: ['explode']" in result.output
    assert run(tmp_path / "nowhere.json").exit_code == 2
