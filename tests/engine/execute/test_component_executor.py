"""Jobs whose components need no Spark, from the file to the ledger: no driver is ever started."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from pondage.ledger.database.driver import LedgerUnavailable
from pondage.spark.session.driver import SparkDriver
from tests.spark.job_world import JobWorld, states

JOB = """
job: {name: quiet}
context: {limit: 3}
components:
  - {name: begin, type: log, params: {message: hello}}
  - {name: count, type: set_globals, params: {values: {seen: 0}}}
  - {name: again, type: iterator, params: {mode: while, condition: iteration <= context.limit, globals: override}}
  - {name: more, type: set_globals, global_export: [seen], params: {computed: {seen: seen + 1}}}
  - {name: check, type: fail, params: {message: too many, when: seen > 2}}
  - {name: told, type: log_globals}
  - {name: never, type: log}
  - {name: files, type: iterator, params: {mode: files, location: incoming, glob: "*.txt"}}
  - {name: each, type: sleep, params: {seconds: 0}}
connections:
  data: [again.item -> more.input, files.item -> each.input]
  control:
    - begin (ok) count
    - count (ok) again
    - again (ok) check
    - check (error) told
    - check (ok) never
    - told (ok) files
"""
OWN = '''
from pondage import component


@component("welcome", after=("greeting",), globals=())
def welcome(*, params, run):
    """Greets."""
    run.after["greeting"] = f"hello {run.secret(params.get('secret', 'env:GREETED'))}"
    if params.get("is_cut"):
        from pondage.ledger.database.driver import LedgerUnavailable
        raise LedgerUnavailable("the connection was cut")
    if params.get("fails"):
        raise RuntimeError(run.after["greeting"])
'''


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JobWorld]:
    (tmp_path / "pondage.toml").write_text('[project]\nname = "quiet"\nmodules = ["greeting_of_a_test.py"]\n')
    (tmp_path / "greeting_of_a_test.py").write_text(OWN)
    (tmp_path / "incoming").mkdir()
    for name in ("b2.txt", "b10.txt", "c.csv"):
        (tmp_path / "incoming" / name).write_text(name)
    monkeypatch.chdir(tmp_path)

    def start(*_: object, **__: object) -> NoReturn:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(SparkDriver, "start", start)
    monkeypatch.delitem(sys.modules, "greeting_of_a_test", raising=False)
    made = JobWorld(tmp_path)
    yield made
    made.close()


def test_control_flow_runs_without_spark(world: JobWorld, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    (world.root / "job.yaml").write_text(JOB, encoding="utf-8")
    view = world.run("job.yaml")
    found = states(view)
    assert view.run.state == "OK"
    assert {name: found[name] for name in ("begin", "count", "again", "check", "told", "never", "files")} == {
        "begin": "OK", "count": "OK", "again": "OK", "check": "ERROR", "told": "OK", "never": "SKIPPED", "files": "OK"
    }  # fmt: skip
    assert [name for name in found if name.startswith("each")] == ["each[#1]", "each[#2]"]
    assert view.globals["check__ERROR_MESSAGE"] == "too many"
    assert view.globals["seen"] == 3
    assert {"hello", "seen = 3"} <= {record.getMessage() for record in caplog.records}


def test_a_component_of_the_project_travels_with_the_code_and_its_secrets_are_veiled(
    world: JobWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GREETED", "hidden-world")
    text = "components: [{name: greet, type: welcome, params: {fails: true}}]\n"
    (world.root / "job.yaml").write_text(text, encoding="utf-8")
    view = world.run("job.yaml")
    (component,) = view.components
    assert component.state == "ERROR"
    assert "hidden-world" not in repr(view.components)
    assert "RuntimeError" in component.cause


def test_a_secret_that_is_added_to_the_project_file_is_known_to_workers_that_run(
    world: JobWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GREETED", "hidden-world")
    text = "components: [{name: greet, type: welcome, params: {secret: GREETING}}]\n"
    (world.root / "job.yaml").write_text(text, encoding="utf-8")
    (missing,) = world.run("job.yaml").components
    assert "names no secret GREETING of welcome" in missing.cause
    file = world.root / "pondage.toml"
    file.write_text(f'{file.read_text()}[secrets.welcome]\nGREETING = "env:GREETED"\n')
    assert world.run("job.yaml").run.state == "OK"


def test_a_ledger_that_does_not_answer_is_no_failure_of_the_component_that_asked(
    world: JobWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GREETED", "world")
    text = "components: [{name: greet, type: welcome, params: {is_cut: true}}]\n"
    (world.root / "job.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(LedgerUnavailable):
        world.run("job.yaml")
