"""`pondage job run|resume|list|show|kill`, and deploying the jobs of a project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from pondage.cli.client.session import open_ledger
from pondage.cli.follow.job_run import Lines
from pondage.cli.printing.jobs import component_rows
from pondage.conform.control_registry import TEST_REGISTRY
from pondage.project.project import load_project
from pondage.views.jobs.jobs import JobRunDetail
from pondage.views.runs.active import Progress
from tests.cli.conftest import Call
from tests.cli.workers import FakeWorkers

NIGHTLY = """
job: {name: nightly, version: 1.2.0}
context: {day: monday}
components:
  - {name: read, type: source}
  - {name: load, type: sink}
  - {name: after, type: task}
connections:
  data: [read.main -> load.input]
  control: [load (subjob_ok) after]
"""


@pytest.fixture(autouse=True)
def _test_components(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pondage.cli.files.registry.known_components", lambda: TEST_REGISTRY)


@pytest.fixture
def file(project: Path) -> Path:
    path = project / "jobs" / "nightly.yaml"
    path.parent.mkdir()
    path.write_text(NIGHTLY)
    (path.parent / "part.yaml").write_text("components: [{name: x, type: source}]\n")
    return path


def test_a_file_runs_at_once_and_its_run_is_shown(file: Path, call: Call, workers: FakeWorkers) -> None:
    said = call("job", "run", str(file), "--context", "day=tuesday")
    assert said.code == 0, said.err
    assert "read  OK" in said.out
    assert "nightly · OK" in said.out
    run = call("job", "list", "--json").json["runs"][0]  # type: ignore[index]
    assert (run["job"], run["state"], run["counts"]) == ("nightly", "OK", {"OK": 3})
    shown = call("job", "show", run["id"]).out
    assert "1.2.0" in shown
    assert "after" in shown
    assert call("job", "show", "nightly", "--json").json["context"] == {
        "env": "main",
        "run_id": run["id"],
        "day": "tuesday",
    }


@pytest.mark.parametrize("given", ["day", "=monday", ""])
def test_a_context_that_is_no_pair_is_a_usage_error_and_nothing_runs(file: Path, call: Call, given: str) -> None:
    said = call("job", "run", str(file), "--context", given)
    assert said.code == 2
    assert f"{given!r} is not K=V" in said.err
    assert call("job", "list", "--json").json["runs"] == []
    assert call("job", "trace", str(file), "--after", "read.rows").code == 2


def test_a_shown_run_tells_what_spark_did_for_its_components(file: Path, call: Call, workers: FakeWorkers) -> None:
    workers.summary = '{"phase":"done","done":[{"id":3,"tasks":4,"work_us":1500000,"spilled_bytes":9}]}'
    assert call("job", "run", str(file)).code == 0
    shown = call("job", "show", "nightly").out.splitlines()
    rows = [line.split() for line in shown[shown.index("spark") + 2 :][:3]]
    assert rows == [[name, "1", "4", "1.5", "s", "9", "B"] for name in ("read", "load", "after")]


def test_whoever_follows_a_run_sees_that_spark_starts(
    file: Path, call: Call, workers: FakeWorkers, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("job", "run", str(file)).code == 0
    view = msgspec.json.decode(call("job", "show", "nightly", "--json").out, type=JobRunDetail)
    ended = view.components[0]
    lines = Lines()
    capsys.readouterr()

    def shown(**changed: object) -> list[str]:
        one = msgspec.structs.replace(ended, **changed)
        lines.show(msgspec.structs.replace(view, components=(one,)))
        return [line.partition("  ")[2] for line in capsys.readouterr().out.splitlines()]

    busy = {"state": "RUNNING", "work": "running"}
    jvm = Progress(phase="starting spark: starting the JVM")
    assert shown(state="RUNNING", work="queued") == ["read  RUNNING"]
    assert shown(**busy, progress=jvm) == ["read  RUNNING  starting spark: starting the JVM"]
    assert shown(**busy, progress=jvm) == []
    assert shown(**busy, progress=Progress(phase="running", tasks_done=1, tasks_all=3)) == []
    assert shown() == ["read  OK"]
    drawn = msgspec.structs.replace(ended, **busy, progress=Progress(phase="running", tasks_done=1, tasks_all=3))
    assert component_rows(msgspec.structs.replace(view, components=(drawn,)))[0][-1] == "running 1/3 tasks"


def test_what_happened_is_printed_in_its_order_with_its_own_times(
    file: Path, call: Call, workers: FakeWorkers, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("job", "run", str(file)).code == 0
    view = msgspec.json.decode(call("job", "show", "nightly", "--json").out, type=JobRunDetail)
    lines = Lines()
    capsys.readouterr()

    def shown(at: int, **ended: int) -> list[str]:
        ones = [msgspec.structs.replace(one, ended_at=ended[one.name]) for one in view.components if one.name in ended]
        lines.show(msgspec.structs.replace(view, components=tuple(ones), at=at))
        return [line.split()[1] for line in capsys.readouterr().out.splitlines()]

    assert shown(100, read=30, load=10, after=20) == ["load", "after", "read"]


def test_what_still_ran_when_its_run_was_aborted_is_cancelled_and_runs_no_more(file: Path, call: Call) -> None:
    run = str(call("job", "run", str(file), "--no-follow", "--json").json["run"])
    call("job", "kill", run)
    shown: Any = call("job", "show", run, "--json").json
    assert shown["components"][0]["state"] == "CANCELLED"
    assert "RUNNING" not in call("job", "show", run).out
    assert shown["run"]["counts"] == {"CANCELLED": 1, "WAIT": 2}


def test_a_crash_loop_is_told_while_it_goes_on(
    file: Path, call: Call, workers: FakeWorkers, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("job", "run", str(file)).code == 0
    view = msgspec.json.decode(call("job", "show", "nightly", "--json").out, type=JobRunDetail)
    ended = view.components[0]
    lines = Lines()
    capsys.readouterr()

    def shown(**changed: object) -> tuple[list[str], object]:
        one = msgspec.structs.replace(ended, state="RUNNING", crash_budget=4, **changed)
        seen = msgspec.structs.replace(view, components=(one,))
        lines.show(seen)
        said = [line.partition("  ")[2] for line in capsys.readouterr().out.splitlines()]
        return said, component_rows(seen)[0][-1]

    once = "crashed once, tried again, 3 more"
    assert shown(work="running") == (["read  RUNNING"], "")
    assert shown(work="queued", crashes=1) == ([f"read  RUNNING  {once}"], f"waits for a worker; {once}")
    assert shown(work="running", crashes=1) == ([], once)
    twice = "crashed twice, tried again in 2 s, 2 more"
    assert shown(work="queued", crashes=2, again_at=view.at + 1_900_000) == ([f"read  RUNNING  {twice}"], twice)
    assert shown(work="queued", again_at=view.at + 9_000_000)[1] == "tried again in 9 s", "a failure, with retries"


def test_a_failed_job_has_exit_code_1_and_is_resumed_when_it_is_mended(
    file: Path, call: Call, workers: FakeWorkers
) -> None:
    workers.failing.add("after")
    said = call("job", "run", str(file), "--json")
    assert said.code == 1
    assert said.json["run"]["state"] == "ERROR"  # type: ignore[index]
    assert said.json["subjobs"][1] == {"name": "after", "state": "ERROR", "error": "after"}  # type: ignore[index]
    failed = said.json["run"]["id"]  # type: ignore[index]
    assert f"--file {file}\n" in call("job", "run", str(file)).out, "without the file, what was mended is not run"
    workers.failing.clear()
    edited = NIGHTLY.replace("{name: after, type: task}", "{name: after, type: task, params: {x: 1}}")
    file.write_text(edited)
    refused = call("job", "resume", failed, "--file", str(file))
    assert "changed sub-jobs: after" in refused.out
    assert "RESUME_PLAN_MISMATCH" in refused.err
    assert refused.code == 4
    assert "(changed sub-jobs: after)" in call("job", "resume", failed, "--file", str(file), "--json").err
    again = call("job", "resume", failed, "--file", str(file), "--yes")
    assert [line.split("  ")[1:] for line in again.out.splitlines() if "  OK" in line] == [
        ["read", "OK", "from the run before"], ["load", "OK", "from the run before"], ["after", "OK"],
    ]  # fmt: skip
    said = call("job", "resume", failed, "--file", str(file), "--yes", "--json")
    assert said.code == 0, said.err
    restored = [one["name"] for one in said.json["components"] if one["is_restored"]]  # type: ignore[attr-defined]
    assert restored == ["read", "load"]
    refused = call("job", "resume", said.json["run"]["id"])  # type: ignore[index]
    assert (refused.code, "NOT_HALTED" in refused.err) == (4, True)


def test_a_killed_run_has_exit_code_3(file: Path, call: Call, workers: FakeWorkers) -> None:
    workers.killing.add("load")
    said = call("job", "run", str(file), "--json")
    assert (said.code, said.json["run"]["state"]) == (3, "ABORTED")  # type: ignore[index]


def test_a_job_that_needs_inputs_is_refused_with_its_place_before_workers_begin(file: Path, call: Call) -> None:
    body = file.parent / "body.yaml"
    body.write_text("inputs: {orders: load.input}\ncomponents:\n  - {name: load, type: sink}\n")
    said = call("job", "run", str(body))
    assert said.code == 4
    assert "body.yaml:1:" in said.err
    assert "JOB_HAS_INPUTS" in said.err
    assert "starting workers" not in said.err
    assert call("job", "validate", str(body)).code == 0, "a Ripple may name it"


def test_a_run_that_nobody_follows_can_be_killed(file: Path, call: Call) -> None:
    run = call("job", "run", str(file), "--no-follow", "--json").json["run"]
    assert "RUNNING" in call("job", "show", str(run)).out
    assert f"{run} is ABORTED; to go on later: pondage job resume {run}" in call("job", "kill", str(run)).out
    assert "is over" in call("job", "kill", str(run)).err
    another = str(call("job", "run", str(file), "--no-follow", "--json").json["run"])
    assert f"{another} is ABORTED" in call("kill", another).out
    assert f"try: pondage job show {another}" in call("show", another).err
    assert call("job", "show", "nonsense").code == 1


def test_a_file_that_cannot_run_is_refused_with_everything_that_is_wrong(file: Path, call: Call) -> None:
    file.write_text(NIGHTLY.replace("type: sink", "type: sunk").replace("type: task", "type: tusk"))
    said = call("job", "run", str(file))
    assert said.code == 4
    assert said.err.count("UNKNOWN_TYPE") == 2


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("type: sink", "type: snk", "component type 'snk' is not in the registry; did you mean 'sink'?"),
        ("load (subjob_ok)", "laod (subjob_ok)", "there is no component 'laod'; did you mean 'load'?"),
        ("read.main", "read.mian", "read has no output port 'mian'; did you mean 'main'?"),
        ("components:", "componets:", "'componets' is not expected; did you mean 'components'?"),
    ],
)
def test_a_misspelt_name_in_a_job_is_answered_with_the_nearest(
    file: Path, call: Call, right: str, wrong: str, message: str
) -> None:
    file.write_text(NIGHTLY.replace(right, wrong))
    said = call("job", "validate", str(file))
    assert said.code == 4
    assert message in said.out


def test_deploy_puts_the_jobs_of_a_project_into_the_ledger(file: Path, call: Call, workers: FakeWorkers) -> None:
    said = call("deploy")
    assert said.code == 0, said.err
    assert "+ job nightly added" in said.out
    assert "deployed to main; next: pondage dev (in another terminal), then pondage job run nightly\n" in said.out
    assert "part" not in said.out
    assert "nothing to deploy" in call("deploy").out
    file.write_text(NIGHTLY.replace("monday", "sunday"))
    assert "~ job nightly changed" in call("plan").out
    said = call("job", "run", "nightly", "--json")
    assert said.json["context"]["day"] == "monday"  # type: ignore[index]
    call("deploy")
    assert call("job", "run", "nightly", "--json").json["context"]["day"] == "sunday"  # type: ignore[index]
    file.unlink()
    assert "- job nightly removed" in call("deploy").out
    assert call("job", "run", "nightly").code == 1


def test_a_job_whose_file_was_not_touched_is_unchanged_and_goes_along_with_the_code(
    file: Path, project: Path, call: Call, workers: FakeWorkers
) -> None:
    ponds = project / "ponds.py"
    ponds.write_text("from pondage import pond\n\n@pond\ndef numbers(spark):\n    return spark.range(3)\n")
    assert "+ job nightly added" in call("deploy").out
    ponds.write_text(ponds.read_text() + "\n\ndef unused():\n    return 1\n")
    said = call("plan")
    assert "job nightly changed" not in said.out
    assert "nothing to deploy" in said.out
    ponds.write_text(ponds.read_text().replace("range(3)", "range(4)"))
    assert "job nightly changed" not in call("deploy").out
    ledger = open_ledger(load_project(project))
    with ledger.reading() as tx:
        (newest,) = tx.rows("SELECT archive FROM deployments ORDER BY id DESC LIMIT 1", str)
        assert tx.one("SELECT archive FROM jobs", str) == newest, "one worker with one code serves all of the project"
    ledger.close()
    assert call("job", "run", "nightly").code == 0
