"""The shipped control scenarios on the durable host: the same timelines, states and globals as in virtual time."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from pondage.cli.operate.conform import conform
from pondage.conform.control import check_control
from pondage.conform.control_durable import LedgerControlHost
from pondage.conform.control_scenario import ControlScenario, read_control_scenarios

FILE = Path(__file__).parents[2] / "conformance" / "control.json"
OWN = Path(__file__).parent / "own_control.json"
SCENARIOS = [*read_control_scenarios(FILE), *read_control_scenarios(OWN)]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_the_durable_host_does_what_the_scenario_says(scenario: ControlScenario) -> None:
    assert check_control(scenario, LedgerControlHost).mismatches == []


def test_the_command_runs_scenarios_on_the_ledger() -> None:
    result = CliRunner().invoke(conform, ["control", str(FILE), "--host", "ledger", "--only", "CF-098"])
    assert result.output == "1 passed, 0 failed\n"
