"""Tables that are kept up to date: the shipped cases, and the command that plays them."""

import os
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from pondage.cli.operate.conform import conform
from pondage.conform.incremental import check_incremental, play_incremental
from pondage.conform.incremental_scenario import IncrementalCase, read_incremental_cases
from pondage.spark.session.driver import SparkDriver

pytestmark = pytest.mark.spark

PLACE = Path(__file__).parents[3] / "conformance" / "incremental"
IN_PONDS = int(os.environ.get("PONDAGE_CASES_IN_PONDS", "6"))
CASES = read_incremental_cases([PLACE])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_comes_out_as_it_says(case: IncrementalCase, spark: SparkSession, tmp_path: Path) -> None:
    assert check_incremental(case, spark, tmp_path / "case", no_cost=True).mismatches == []


@pytest.fixture
def shared(driver: SparkDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command use the driver of all tests, and leave it running."""
    monkeypatch.setattr(SparkDriver, "start", lambda *_, **__: driver)
    monkeypatch.setattr(driver, "stop", lambda: None)


@pytest.mark.usefixtures("shared")
def test_the_command_counts_what_passed_and_fails_on_a_changed_row(tmp_path: Path) -> None:
    given = msgspec.json.decode((PLACE / "filter_project.json").read_bytes())
    right, wrong = tmp_path / "right.json", tmp_path / "wrong.json"
    right.write_bytes(msgspec.json.encode(given))
    given["name"], given["expected"][1][0][1] = "wrong", "0.00"
    wrong.write_bytes(msgspec.json.encode(given))

    result = CliRunner().invoke(conform, ["incremental", "--no-cost", str(tmp_path)])
    assert (result.exit_code, result.output.splitlines()[-1]) == (1, "1 passed, 1 failed")
    assert "table after step 1 (append: " in result.output
    result = CliRunner().invoke(conform, ["incremental", str(tmp_path), "--only", "filter_project", "--json"])
    assert (result.exit_code, msgspec.json.decode(result.output)["passed"]) == (0, 1)


@pytest.mark.usefixtures("shared")
def test_cases_come_out_as_they_say_as_deployed_ponds() -> None:
    """A few of all; `pondage conform incremental --no-cost conformance/incremental` plays each."""
    chosen = [CASES[at] for at in range(0, len(CASES), len(CASES) // IN_PONDS)]
    assert [each for each in play_incremental(chosen, no_cost=True).verdicts if each.mismatches] == []


def test_a_weaker_strategy_than_the_strongest_is_noticed() -> None:
    case = next(each for each in CASES if each.name == "sum_delete")
    assert [case.is_too_weak(how) for how in ("append", "merge", "merge,then tip", "keyed", "full")] == [
        False, False, True, True, True,
    ]  # fmt: skip


def test_a_file_that_is_no_case_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "case.json"
    file.write_text("[]")
    result = CliRunner().invoke(conform, ["incremental", str(file)])
    assert (result.exit_code, "error[BAD_SCENARIO]" in result.output) == (2, True)
    result = CliRunner().invoke(conform, ["incremental", str(PLACE), "--only", "nobody"])
    assert (result.exit_code, result.output) == (2, "error[NOT_FOUND]: no case has the name nobody\n")
