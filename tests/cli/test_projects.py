import sys
from pathlib import Path

import msgspec
import pytest

from pondage.cli.operate import warmup
from pondage.cli.start.demo import copy_example, example_directory
from pondage.errors import ProjectError
from pondage.views.answers import DoctorView
from pondage.views.plans.plan import PlanView
from pondage.views.runs.runs import RunsView
from tests.cli.conftest import Call
from tests.cli.workers import FakeWorkers
from tests.ledger.harness import World

POND = """
from pondage import pond

@pond(tide="1h")
def numbers(spark):
    return spark.range(3)
"""


def test_init_writes_a_project_and_says_what_is_next(tmp_path: Path, call: Call) -> None:
    said = call("init", str(tmp_path / "shop"))
    assert said.code == 0
    assert "pondage deploy && pondage dev" in said.out
    assert (tmp_path / "shop" / "pondage.toml").is_file()
    assert call("init", str(tmp_path / "shop")).code == 1


def test_plan_shows_and_deploy_applies_and_a_second_deploy_does_nothing(project: Path, call: Call) -> None:
    (project / "ponds.py").write_text(POND)
    planned = msgspec.json.decode(call("plan", "--json").out, type=PlanView)
    assert [(each.key, each.change, each.triggers) for each in planned.ponds] == [("numbers@1", "added", ("tide 1 h",))]
    said = call("deploy")
    assert said.code == 0, said.err
    assert "  + numbers@1 added (tide 1 h)" in said.out
    assert "pondage run numbers" in said.out
    assert "nothing to deploy" in call("deploy").out
    (project / "ponds.py").write_text(POND.replace("3", "4"))
    assert "  ~ numbers@1 changed (numbers: code" in call("plan").out
    (project / "ponds.py").write_text("")
    assert "  - numbers@1 removed" in call("plan").out


@pytest.mark.parametrize("form", ["{}", "sqlite://{}", "sqlite:///{}"])
def test_a_ledger_in_a_directory_that_is_not_there_is_refused_and_nothing_is_made(
    tmp_path: Path, call: Call, form: str
) -> None:
    root, elsewhere = tmp_path / "shop", tmp_path / "data" / "shop"
    root.mkdir()
    place = form.format(elsewhere / "ledger.db")
    (root / "pondage.toml").write_text(f'[project]\nname = "shop"\nledger = "{place}"\n')
    for verb in ("plan", "deploy", "status", "worker"):
        said = call("--project", str(root), verb)
        assert said.code == 1
        assert f"there is no directory {elsewhere} for the ledger" in said.err
    assert not (tmp_path / "data").exists()
    elsewhere.mkdir(parents=True)
    assert call("--project", str(root), "status").code == 0
    assert (elsewhere / "ledger.db").is_file()
    (root / "pondage.toml").write_text('[project]\nname = "shop"\nledger = "deep/inside/ledger.db"\n')
    assert call("--project", str(root), "status").code == 0


def test_a_plan_with_a_problem_ends_with_1_and_deploy_refuses_it(project: Path, call: Call) -> None:
    (project / "ponds.py").write_text("from pondage import pond\n\n@pond\ndef a(b): ...\n\n@pond\ndef b(a): ...\n")
    said = call("plan")
    assert said.code == 1
    assert "CYCLE" in said.out
    refused = call("deploy")
    assert refused.code == 1
    assert "CYCLE" in refused.err
    assert "nothing is deployed" in call("status").out


def test_a_module_that_cannot_be_read_is_an_error_with_its_place(project: Path, call: Call) -> None:
    (project / "ponds.py").write_text("this is not python\n")
    said = call("plan")
    assert said.code == 1
    assert "ponds.py" in said.err
    assert "Traceback" not in said.err


def test_dev_hands_over_to_the_engine_and_answers_its_code(
    project: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pondage.engine.supervise import dev

    monkeypatch.setattr(dev, "run_dev", lambda given, quiet: 7 if quiet and given.name == "shop" else 0)
    assert call("dev", "--quiet").code == 7


def test_the_doctor_lists_its_checks_and_fails_when_one_does(world: World, project: Path, call: Call) -> None:
    view = msgspec.json.decode(call("doctor", "--json").out, type=DoctorView)
    found = {each.check: each.ok for each in view.checks}
    assert (found["python"], found["project"], found["ledger"]) == (True, True, True)
    (project / "pondage.toml").write_text("[project]\nname = 1\n")
    said = call("doctor")
    assert said.code == 1
    assert "ok    python: " in said.out
    at = said.out.splitlines().index(next(line for line in said.out.splitlines() if line.startswith("FAIL  project: ")))
    assert "name" in said.out.splitlines()[at]
    assert not msgspec.json.decode(call("doctor", "--json").out, type=DoctorView).ok


def test_a_doctor_that_cannot_speak_is_a_failed_check(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    (check,) = msgspec.json.decode(call("doctor", "--json").out, type=DoctorView).checks
    assert (check.check, check.ok) == ("doctor", False)


def test_warmup_prints_what_the_process_with_spark_answers(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmup, "_WARM", """print('{"was_warm": true, "directory": "/cache"}')""")
    assert call("warmup").out == "was warm already: /cache\n"
    assert call("warmup", "--if-needed").out == ""
    problem = '{"error": {"code": "WARMUP", "message": "no room", "place": null, "hint": "make some"}}'
    monkeypatch.setattr(warmup, "_WARM", f"print('{problem}')")
    assert call("warmup").err == "error[WARMUP]: no room\n  try: make some\n"
    monkeypatch.setattr(warmup, "_WARM", "raise SystemExit(3)")
    assert "ended with code 3" in call("warmup").err


def test_vacuum_says_what_it_would_delete(world: World, call: Call) -> None:
    said = call("vacuum", "--dry-run")
    assert said.code == 0, said.err
    assert "0 snapshots would be marked" in said.out
    assert msgspec.json.decode(call("vacuum", "--dry-run", "--json").out)["dry_run"] is True


def test_the_example_is_copied_once_and_never_over_something_else(tmp_path: Path) -> None:
    assert (example_directory() / "ponds").is_dir()
    target = tmp_path / "demo"
    assert copy_example(target)
    (target / "ponds" / "mine.py").write_text("")
    assert not copy_example(target)
    assert (target / "ponds" / "mine.py").exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("")
    with pytest.raises(ProjectError, match="is not the example"):
        copy_example(tmp_path / "other")


def test_a_project_can_begin_as_a_copy_of_an_example(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = call("init", "mine", "--example", "taxi", "--json")
    assert said.code == 0, said.err
    assert "mine/ponds/trips.py" in said.json["files"]  # type: ignore[operator]
    assert (tmp_path / "mine" / "make_data.py").read_text() == (example_directory("taxi") / "make_data.py").read_text()
    assert "has the example taxi already" in call("init", "mine", "--example", "taxi").err
    unknown = call("init", "other", "--example", "taxis")
    assert unknown.code == 1
    assert "there are: flows, jobs, pricing, retail, taxi" in unknown.err
    assert call("init", "other", "--example", "taxi", "--name", "x").code == 2


def test_the_demo_walks_to_its_end_and_prints_what_to_type_next(
    tmp_path: Path, workers: FakeWorkers, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pondage.cli.start import demo

    monkeypatch.setattr(demo, "PUBLISH_S", 0.0)
    monkeypatch.chdir(tmp_path)
    said = call("demo", "--seconds", "1")
    assert said.code == 0, said.err
    for number in range(1, 8):
        assert f"\n{number}. " in f"\n{said.out}"
    assert "as often as the slowest could use" in said.out
    assert "$ pondage why products" in said.out
    assert said.out.rstrip().splitlines()[-6].strip() == "cd pondage-demo"


SHOP = """
from pondage import pond

@pond
def orders(spark):
    return spark.range(3)

@pond{options}
def sales(orders):
    return orders.limit({limit})

@pond
def reports(sales):
    return sales
"""


def schema(*columns: str) -> str:
    fields = [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in columns]
    return msgspec.json.encode({"type": "struct", "fields": fields}).decode()


def shop(project: Path, limit: int, options: str = "") -> None:
    (project / "ponds.py").write_text(SHOP.format(limit=limit, options=options))


def test_a_plan_says_what_computes_anew_and_what_is_not_known(project: Path, workers: FakeWorkers, call: Call) -> None:
    shop(project, 1)
    first = call("plan").out
    assert "at the next demand these compute anew, in this order: orders@1, sales@1, reports@1" in first
    assert "schemas known after the next run: orders@1.orders, reports@1.reports, sales@1.sales" in first
    call("deploy")
    call("run", "reports")
    shop(project, 2, options='(tide="1h")')
    said = call("plan")
    assert "in this order: sales@1, reports@1" in said.out
    assert "triggers of their own ask for it: sales@1" in said.out
    assert "pondage plan --analyze" in said.out
    view = msgspec.json.decode(call("plan", "--json").out, type=PlanView)
    assert view.recomputes == ("sales@1", "reports@1")
    assert [each.state for pond in view.ponds for each in pond.schemas] == ["unknown"]


def test_of_a_table_that_grows_a_plan_says_that_it_takes_its_next_batch(
    project: Path, workers: FakeWorkers, call: Call
) -> None:
    shop(project, 1, options='(mode="append")')
    assert "compute anew, in this order: orders@1, sales@1, reports@1" in call("deploy").out
    call("run", "reports")
    shop(project, 2, options='(mode="append")')
    said = call("deploy", "--run")
    assert said.code == 0, said.err
    assert "sales@1 changed (sales: code; its next batch is by the new code)" in said.out
    assert "these keep their rows and take their next batch: sales@1 (all: pondage force --full sales)" in said.out
    assert "compute anew, in this order: reports@1" in said.out
    assert "computed anew: reports@1\n" in said.out
    assert "took the next batch: sales@1\n" in said.out


def test_an_analysis_shows_columns_and_proposes_the_version(project: Path, workers: FakeWorkers, call: Call) -> None:
    shop(project, 1)
    call("deploy")
    call("run", "reports")
    shop(project, 2)
    workers.inferred = [
        {"table": "sales@1.sales", "schema": schema("n", "extra")},
        {"table": "reports@1.reports", "problem": "it fails on nothing", "place": "ponds.py:14"},
    ]
    said = call("plan", "--analyze")
    assert said.code == 0, said.err
    assert "      sales: + extra bigint" in said.out
    assert "sales@1: a minor change; version 1.1.0 would say so" in said.out
    assert (
        "reports@1.reports could not be analysed, so its schema is known after the next run: it fails on nothing"
        in said.out
    )
    view = msgspec.json.decode(call("plan", "--analyze", "--json").out, type=PlanView)
    planned = {pond.key: pond for pond in view.ponds}
    assert planned["sales@1"].proposed == "1.1.0"
    assert [each.state for each in planned["sales@1"].schemas] == ["changed"]
    assert "nothing is" not in call("status").out
    assert "sales@1 changed" in call("plan").out, "nothing was deployed"


def test_a_broken_contract_is_a_problem_of_the_plan(project: Path, workers: FakeWorkers, call: Call) -> None:
    shop(project, 1)
    call("deploy")
    call("run", "reports")
    shop(project, 2)
    breaks = ["column n (bigint) was removed"]
    workers.inferred = [{"table": "sales@1.sales", "schema": schema("other"), "breaks": breaks}]
    said = call("plan", "--analyze")
    assert said.code == 1
    assert "problem[CONTRACT]: sales@1.sales breaks the contract of its major version: column n" in said.out
    assert "raise the version to 2.0.0" in said.out
    assert "      sales: - n bigint" in said.out


def test_an_analysis_of_an_unchanged_project_asks_nobody(project: Path, workers: FakeWorkers, call: Call) -> None:
    shop(project, 1)
    call("deploy")
    call("run", "reports")
    said = call("plan", "--analyze")
    assert "nothing to deploy" in said.out
    assert "starting workers" not in said.err


def test_a_deploy_that_runs_forces_what_changed_and_what_reads_it(
    project: Path, workers: FakeWorkers, call: Call
) -> None:
    shop(project, 1)
    said = call("deploy", "--run")
    assert said.code == 0, said.err
    assert "computed anew: orders@1, sales@1, reports@1" in said.out
    shop(project, 2)
    said = call("deploy", "--run")
    assert said.code == 0, said.err
    assert "computed anew: sales@1, reports@1" in said.out
    runs = msgspec.json.decode(call("runs", "--json").out, type=RunsView).runs
    assert [(run.pond, run.number, run.is_forced) for run in runs] == [
        ("reports@1", 2, True),
        ("sales@1", 2, True),
        ("reports@1", 1, True),
        ("sales@1", 1, True),
        ("orders@1", 1, True),
    ]


def test_a_deploy_that_runs_stops_at_what_failed(project: Path, workers: FakeWorkers, call: Call) -> None:
    shop(project, 1)
    workers.failing = {"sales"}
    said = call("deploy", "--run")
    assert said.code == 1
    assert "error[EXPECTATION]: sales.sales failed" in said.err
    runs = msgspec.json.decode(call("runs", "--json").out, type=RunsView).runs
    assert [run.pond for run in runs] == ["sales@1", "orders@1"]


def test_a_deploy_that_runs_names_what_has_no_input(project: Path, workers: FakeWorkers, call: Call) -> None:
    (project / "ponds.py").write_text("from pondage import pond\n\n@pond\ndef lonely(nobody): ...\n")
    said = call("deploy", "--run")
    assert said.code == 0, said.err
    assert "no input yet, so not run: lonely@1" in said.out
