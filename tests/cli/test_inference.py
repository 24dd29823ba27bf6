"""`--infer`, and runs that infer first: what only Spark knows is asked of a worker, before a run is made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.cli.workers import FakeWorkers

CODE = '''
from pondage import component


@component("ones", outputs={"main": "Table<{n: int}>"}, startable=True)
def ones(*, params, run):
    """Give rows."""
    return run.spark.createDataFrame([(1,)], "n int")


@component("lazy", inputs={"input": "Table<Any>"}, outputs={"main": "infer"}, exposed=True)
def lazy(input, *, params, run):
    """Whatever Spark makes of it."""
    return input


@component("wants", inputs={"input": "Table<{n: int}>"}, outputs={"main": "Table<{n: int}>"}, exposed=True)
def wants(input, *, params, run):
    """Take one column."""
    return input
'''
JOB = """
job: {name: guess}
components:
  - {name: rows, type: ones}
  - {name: lazy, type: lazy}
  - {name: wants, type: wants}
connections:
  data: [rows.main -> lazy.input, lazy.main -> wants.input]
"""
TREE = {
    "version": 1,
    "nodes": {
        "rows": {"const": {"type": "Table<{n: int}>", "value": []}},
        "lazy": {"prog": "lazy"},
        "wants": {"prog": "wants"},
    },
    "edges": [["rows.out", "lazy.input"], ["lazy.main", "wants.input"]],
    "extract": {
        "out": {"from": "wants.main", "format": "ndjson"},
        "guess": {"from": "lazy.main", "format": "ndjson"},
    },
}
SAID = "[UNRESOLVED_COLUMN.WITH_SUGGESTION] `m` cannot be resolved. Did you mean one of the following? [`n`]."


@pytest.fixture(autouse=True)
def _files(project: Path) -> None:
    (project / "pondage.toml").write_text('modules = ["parts.py"]\n[project]\nname = "shop"\n')
    (project / "parts.py").write_text(CODE)
    (project / "guess.yaml").write_text(JOB)
    (project / "guess.json").write_text(json.dumps(TREE))


def test_without_the_flag_a_type_stays_unresolved_and_nobody_is_asked(call: Call, project: Path) -> None:
    for words in (("job", "validate", "guess.yaml"), ("flow", "check", "guess.json")):
        said = call(*words)
        assert said.code == 0, said.out
        assert "unresolved: the type of lazy.main is known only to Spark" in said.out
    assert not (project / ".pondage" / "ledger.db").exists()


def test_a_worker_resolves_them_and_the_second_call_needs_none(call: Call, workers: FakeWorkers) -> None:
    workers.types = {"lazy": {"outputs": {"main": "Table<{n: int}>"}}}
    said = call("job", "validate", "guess.yaml", "--infer")
    assert said.code == 0, said.err
    assert "inferred: lazy.main is Table<{n: int}>" in said.out
    assert "unresolved" not in said.out
    assert "starting workers" in said.err
    workers.types = {}
    again = call("job", "validate", "guess.yaml", "--infer", "--json")
    assert (again.json["unresolved"], again.json["inferred"]) == ([], {"lazy.main": "Table<{n: int}>"})
    checked = call("flow", "check", "guess.json", "--infer", "--json")
    assert checked.json["unresolved"] == []
    assert [one["type"] for one in checked.json["edges"]] == ["Table<{n: int}>"] * 2  # type: ignore[attr-defined]
    assert "starting workers" not in again.err + checked.err, "the ledger knew it"


def test_what_spark_has_against_it_refuses_a_run_before_there_is_one(call: Call, workers: FakeWorkers) -> None:
    workers.types = {"lazy": {"problem": SAID, "port": "input"}}
    for words in (("job", "validate", "guess.yaml", "--infer"), ("flow", "check", "guess.json", "--infer")):
        said = call(*words)
        assert said.code == 4
        assert SAID in said.out
        assert "lazy.input: got Table<{n: int}>" in said.out
        assert "[TYPE_MISMATCH]" in said.out
    said = call("job", "run", "guess.yaml")
    assert said.code == 4
    assert "rows.main -> lazy.input: got Table<{n: int}>" in said.err
    assert call("job", "list", "--json").json["runs"] == []
    said = call("flow", "submit", "guess.json", "--json")
    assert said.code == 4
    assert said.json["problems"][0]["pointer"] == "/edges/0"  # type: ignore[index]
    assert call("flow", "list", "--json").json["runs"] == []


def test_a_run_infers_first_and_refuses_what_does_not_meet(call: Call, workers: FakeWorkers) -> None:
    workers.types = {"lazy": {"outputs": {"main": "Table<{n: string}>"}}}
    said = call("job", "run", "guess.yaml")
    assert said.code == 4
    assert "lazy.main -> wants.input: wanted Table<{n: int}>, got Table<{n: string}>" in said.err
    assert call("job", "list", "--json").json["runs"] == []


def test_a_type_that_nobody_can_tell_stops_no_run(call: Call, workers: FakeWorkers) -> None:
    workers.types = {"lazy": {"why": "it reads the global 'day', which only a run has"}}
    said = call("job", "validate", "guess.yaml", "--infer")
    assert said.code == 0
    assert "unresolved: the type of lazy.main is not known: it reads the global 'day'" in said.out
    said = call("job", "run", "guess.yaml")
    assert said.code == 0, said.err
    assert said.err.count("starting workers") == 1, "those that inferred run the job"


def test_a_tree_runs_with_the_types_that_were_inferred(call: Call, workers: FakeWorkers) -> None:
    workers.types = {"lazy": {"outputs": {"main": "Table<{n: int}>"}}}
    said = call("flow", "submit", "guess.json", "--wait", "--json")
    assert said.code == 0, said.err
    assert said.err.count("starting workers") == 1, "those that inferred run it"
    types = {one["name"]: one["type"] for one in said.json["extracts"]}  # type: ignore[attr-defined]
    assert types["guess"] == "Table<{n: int}>"


def test_workers_that_only_inferred_are_gone_before_a_run_that_nobody_follows(call: Call, workers: FakeWorkers) -> None:
    workers.types = {"lazy": {"outputs": {"main": "Table<{n: int}>"}}}
    for words in (("job", "run", "guess.yaml", "--no-follow"), ("flow", "submit", "guess.json")):
        said = call(*words, "--json")
        assert said.code == 0, said.err
        shown = call("job", "show", str(said.json["run"]), "--json").json
        assert {one["state"] for one in shown["components"]} <= {"WAIT", "RUNNING"}  # type: ignore[attr-defined]
