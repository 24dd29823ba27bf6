"""`pondage simulate` on deployed Ponds: orders > sales (clean, sales) > reports."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import pondage
from pondage.kernel.demand.events import Pulse, Tide
from pondage.kernel.demand.shape import PondKey
from pondage.views.plans.simulation import SimulationView
from tests.cli.conftest import Call
from tests.ledger.harness import SECOND, World


def view(call: Call, *arguments: str) -> SimulationView:
    said = call("simulate", "--json", *arguments)
    assert said.code == 0, said.err
    return msgspec.json.decode(said.out, type=SimulationView)


def test_the_ponds_run_as_often_as_the_triggers_say(world: World, call: Call) -> None:
    found = view(call, "--for", "10m", "--pulse", "reports", "--tap", "reports@1m", "--cron", "1m")
    # One each for the Pulse; the Tap fills the whole way: as often as there are Ripples from the Pond on.
    assert {one.pond: one.runs for one in found.pondage.ponds} == {"orders@1": 5, "sales@1": 4, "reports@1": 2}
    assert found.triggers == ("tap reports@1", "pulse reports@1")
    assert [one.policy for one in found.others] == ["cron 1 min", "on every change"]
    assert {timing.origin for timing in found.timings} == {"default"}
    assert found.pondage.outlets[0].lead_us == 4 * SECOND


def test_without_triggers_those_that_stand_are_used_even_when_set_by_hand(world: World, call: Call) -> None:
    world.send(Tide(pond=PondKey("reports@1"), limit=60 * SECOND))
    found = view(call, "--for", "1h")
    assert found.triggers == ("tide reports@1 1 min",)
    assert found.pondage.outlets[0].runs == pytest.approx(60, abs=2)
    assert found.notes == ()


def test_without_any_trigger_a_wave_is_put_on_the_outlets_and_that_is_said(world: World, call: Call) -> None:
    found = view(call, "--for", "1m")
    assert found.triggers == ("wave reports@1",)
    assert "Wave" in found.notes[0]


def test_a_schedule_that_does_not_come_in_the_time_is_not_called_no_trigger(project: Path, call: Call) -> None:
    pond = "from pondage import Schedule, pond\n@pond(schedule=Schedule('0 6 1 1 *'))\ndef yearly(spark): ...\n"
    (project / "ponds.py").write_text(pond)
    found = view(call, "--local", "--for", "1m", "--start", "2026-11-16T08:00:00Z")
    assert found.notes[0] == "no Schedule comes within 1m: a Wave is put on each Outlet"


def test_durations_are_those_of_the_recorded_executions(world: World, call: Call) -> None:
    worker = world.worker()
    for took in (2, 3, 4, 5, 30):
        world.send(Pulse(pond=PondKey("orders@1")))
        held = worker.claim()
        assert held is not None
        world.clock.time += took * SECOND
        worker.finish(held)
    timings = {one.ripple: one for one in view(call, "--for", "1m").timings}
    assert timings["orders@1.orders"].base_us == 4 * SECOND
    assert timings["orders@1.orders"].samples == 5
    assert timings["orders@1.orders"].spread == 0.9  # the outlier makes it wide, and it is capped
    assert timings["sales@1.clean"].origin == "default"
    given = view(call, "--for", "1m", "--duration", "sales.clean=7s", "--duration", "sales=3s", "--jitter", "0")
    timings = {one.ripple: one for one in given.timings}
    assert timings["sales@1.clean"].base_us == 7 * SECOND
    assert timings["sales@1.sales"].base_us == 3 * SECOND
    assert timings["orders@1.orders"].spread == 0


def test_a_failure_stops_what_is_below_it_until_somebody_clears(world: World, call: Call) -> None:
    found = view(call, "--for", "1m", "--wave", "reports", "--fail", "sales.clean:2")
    assert found.conditions == {"sales@1": "failed", "reports@1": "blocked"}
    assert {one.pond: one.runs for one in found.pondage.ponds}["sales@1"] == 1


def test_a_trace_says_what_consumers_got_under_each_policy(world: World, project: Path, call: Call) -> None:
    asked = [{"at": at, "pond": "reports", "verb": "tap"} for at in (10, 100, 200, 300)]
    (project / "trace.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(asked))
    found = view(call, "--for", "10m", "--trace", "trace.jsonl", "--cron", "10s")
    cron = found.others[0]
    assert found.pondage.consumed is not None
    assert cron.consumed is not None
    assert found.pondage.consumed.consumptions == cron.consumed.consumptions == 4
    assert found.pondage.spent_us < cron.spent_us
    assert found.pondage.consumed.mean_age_us > cron.consumed.mean_age_us  # a Tap takes what the last one let in


def test_the_local_project_is_simulated_without_deploying_it(project: Path, call: Call) -> None:
    (project / "ponds").mkdir()
    (project / "ponds" / "shop.py").write_text(
        'from pondage import pond\n\n@pond()\ndef orders(spark): ...\n\n@pond(tide="10s")\ndef sales(orders): ...\n'
    )
    found = view(call, "--local", "--for", "1m", "--default", "2s")
    assert found.is_local
    assert found.triggers == ("tide sales@1 10 s",)
    assert {one.pond for one in found.pondage.ponds} == {"orders@1", "sales@1"}


def test_it_prints_tables_and_draws_a_picture(world: World, project: Path, call: Call) -> None:
    said = call("simulate", "--for", "1m", "--wave", "reports", "--plot", "out.svg", "--start", "2026-03-02T08:00:00Z")
    assert said.code == 0, said.err
    for words in ("OUTLET", "MEAN STALENESS", "cron 1 s", "on every change", "drawn: out.svg", "seed 1"):
        assert words in said.out
    assert (project / "out.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--wave", "reprots"], "did you mean 'reports'"),
        (["--duration", "sales.clan=5s"], "it has clean, sales"),
        (["--duration", "sales"], "duration 'sales' is not understood"),
        (["--duration", "sales=5"], "is not a duration"),
        (["--fail", "sales.clean"], "--fail sales.clean:2"),
        (["--tide", "reports"], "--tide reports=1m"),
        (["--trace", "nowhere"], "cannot read the trace"),
        (["--start", "soon"], "time 'soon' is not understood"),
    ],
)
def test_what_is_typed_wrong_is_answered_with_what_to_type(
    world: World, call: Call, arguments: list[str], words: str
) -> None:
    said = call("simulate", *arguments)
    assert said.code == 1
    assert words in said.err


def test_an_empty_ledger_says_what_to_type(project: Path, call: Call) -> None:
    assert "pondage deploy" in call("simulate").err


def test_neither_spark_nor_the_authors_code_is_imported(world: World, project: Path) -> None:
    code = (
        "import sys; from pondage.cli.main import main; main(['simulate', '--for', '1m']); "
        "sys.exit(bool({'pyspark', 'pyarrow', 'pandas'} & set(sys.modules)))"
    )
    source = str(Path(pondage.__file__).parent.parent)
    done = subprocess.run([sys.executable, "-c", code], cwd=project, env={"PYTHONPATH": source}, check=False)
    assert done.returncode == 0
