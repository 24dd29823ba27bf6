from pathlib import Path

import msgspec
import pytest

from pondage.views.plans.plan import PlanView
from pondage.views.runs.runs import RunsView
from tests.cli.conftest import Call
from tests.cli.workers import FakeWorkers
from tests.ledger.harness import World

POND = """
from pondage import pond

@pond
def numbers(spark):
    return spark.range({count})
"""


def test_a_pond_shows_an_older_run_again(world: World, workers: FakeWorkers, call: Call) -> None:
    call("run", "sales")
    call("run", "sales")
    said = call("rollback", "sales", "--to", "sales#1")
    assert said.code == 0, said.err
    assert "sales@1 shows Run #1 again (until its next Run); it is idle" in said.out
    newest = msgspec.json.decode(call("runs", "sales", "--json").out, type=RunsView).runs[0]
    assert (newest.reason, newest.state, newest.rolled_back_to) == ("rollback", "completed", 1)
    assert "rolled back to #1" in call("runs", "sales").out
    assert "back to #1" in call("show", "sales#3").out
    assert "It shows Run #1 again" in call("why", "sales").out


@pytest.mark.parametrize("run", ["1", "#1", "sales#1"])
def test_a_run_of_the_pond_that_is_meant_anyway_is_given_by_its_number(
    world: World, workers: FakeWorkers, call: Call, run: str
) -> None:
    call("run", "sales")
    call("run", "sales")
    said = call("diff", "sales", "--against", run)
    assert said.code == 0, said.err
    assert "(#1) to main run" in said.out
    assert call("rollback", "sales", "--to", run).code == 0
    assert "back to #1" in call("show", "sales#3").out
    unknown = call("show", "#1")
    assert unknown.code == 1
    assert "'#1' does not say of which Pond" in unknown.err
    assert "write sales#1" in unknown.err


def test_a_wave_is_said_to_replace_it(world: World, workers: FakeWorkers, call: Call) -> None:
    call("run", "orders")
    call("run", "orders")
    call("tide", "orders", "1h")
    assert "until its tide makes it run; to keep it: pondage calm orders" in call("rollback", "orders", "--to", "1").out


@pytest.mark.parametrize(("run", "code"), [("sales#9", "NO_RUN"), ("orders#1", "CANNOT_ROLL_BACK")])
def test_a_run_that_cannot_be_shown_is_refused(
    world: World, workers: FakeWorkers, call: Call, run: str, code: str
) -> None:
    call("run", "sales")
    said = call("rollback", "sales", "--to", run)
    assert said.code == 1
    assert f"error[{code}]" in said.err
    assert "pondage runs sales" in said.err
    assert run in said.err.replace("@1", ""), "what was typed, and not an internal id"


def test_a_pond_without_a_run_is_a_usage_error(world: World, call: Call) -> None:
    assert call("rollback", "sales").code == 2


def test_a_project_goes_back_to_what_it_had_deployed_before(project: Path, workers: FakeWorkers, call: Call) -> None:
    (project / "ponds.py").write_text(POND.format(count=3))
    call("deploy")
    assert call("rollback").code == 1
    call("run", "numbers")
    (project / "ponds.py").write_text(POND.format(count=4))
    call("deploy")
    call("run", "numbers")
    dry = msgspec.json.decode(call("rollback", "--dry-run", "--json").out, type=PlanView)
    assert [pond.change for pond in dry.ponds] == ["changed"]
    said = call("rollback")
    assert said.code == 0, said.err
    assert "  ~ numbers@1 changed (numbers: code" in said.out
    assert "deployed again to main" in said.out
    back = next(line for line in said.out.splitlines() if "still shows what the newer code made" in line)
    assert back.endswith("pondage rollback numbers@1 --to 1")
    assert call(*back.rpartition("pondage ")[2].split()).code == 0
    assert "  ~ numbers@1 changed" in call("plan").out, "the files still hold the newer code"
    again = call("rollback")
    assert again.code == 1
    assert "has no older deployment" in again.err


def test_a_newer_code_that_only_failed_has_nothing_to_be_shown_instead_of(
    project: Path, workers: FakeWorkers, call: Call
) -> None:
    (project / "ponds.py").write_text(POND.format(count=3))
    call("deploy")
    call("run", "numbers")
    (project / "ponds.py").write_text(POND.format(count=4))
    call("deploy")
    workers.failing.add("numbers")
    assert call("run", "numbers").code == 1
    said = call("rollback")
    assert said.code == 0, said.err
    assert "still shows" not in said.out
    workers.failing.clear()
    call("clear", "numbers")
    call("deploy")
    assert call("run", "numbers").code == 0
    assert "numbers@1 still shows what the newer code made" in call("rollback").out
