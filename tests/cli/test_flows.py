"""`pondage flow submit|list|show|watch|stop|resume|cleanup`: a tree's life from the outside."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.cli.conftest import Call
from tests.cli.workers import FakeWorkers
from tests.plan.flow.programs import PROGRAMS

TREE: dict[str, Any] = {
    "version": 1,
    "nodes": {
        "c": {"const": {"type": "Table<{id: bigint}>", "value": [{"id": 1}]}},
        "m": {"prog": "maybe"},
        "w": {"prog": "fan"},
        "s": {"prog": "sink"},
    },
    "edges": [["c.out", "m.in"], ["m.out", "w.in"], ["w.part_1", "s.in"]],
    "extract": {"rows": {"from": "m.out", "format": "ndjson", "retention": "2d"}},
}


@pytest.fixture(autouse=True)
def _test_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pondage.cli.files.registry.known_components", lambda: PROGRAMS)


@pytest.fixture
def file(project: Path) -> Path:
    path = project / "flows" / "people.json"
    path.parent.mkdir()
    path.write_text(json.dumps(TREE), encoding="utf-8")
    return path


def test_a_tree_is_submitted_followed_and_shown(file: Path, call: Call, workers: FakeWorkers) -> None:
    said = call("flow", "submit", str(file), "--wait")
    assert said.code == 0, said.err
    assert "people · OK" in said.out
    (run,) = call("flow", "list", "--json").json["runs"]  # type: ignore[index]
    assert (run["job"], run["state"], run["reason"]) == ("people", "OK", "submitted")
    shown = call("flow", "show", run["id"], "--json").json
    (extract,) = shown["extracts"]  # type: ignore[index]
    assert (extract["name"], extract["source"], extract["state"]) == ("rows", "m.out", "ready")
    assert extract["until"] == shown["flow"]["run"]["ended_at"] + 2 * 86_400_000_000  # type: ignore[index]
    assert "part_1" not in call("flow", "show", "people").out
    assert call("job", "list", "--json").json["runs"] == []  # type: ignore[index]
    assert call("flow", "watch", run["id"]).code == 0


def test_a_bad_tree_is_refused_as_by_check_and_nothing_runs(file: Path, call: Call) -> None:
    file.write_text(json.dumps({**TREE, "edges": [["c.out", "m.in"], ["m.out", "w.nope"]]}), encoding="utf-8")
    said = call("flow", "submit", str(file), "--json")
    assert said.code == 4
    assert said.json == call("flow", "check", str(file), "--json").json
    assert "/edges/1/1" in {one["pointer"] for one in said.json["problems"]}  # type: ignore[index]
    assert call("flow", "list", "--json").json["runs"] == []  # type: ignore[index]


def test_a_failed_flow_tells_its_panics_and_is_resumed(file: Path, call: Call, workers: FakeWorkers) -> None:
    workers.failing.add("w")
    said = call("flow", "submit", str(file), "--wait", "--name", "mine", "--json")
    assert said.code == 1
    run = said.json["flow"]["run"]  # type: ignore[index]
    assert (run["state"], run["code"]) == ("ERROR", "PANIC")
    (panic,) = said.json["panics"]  # type: ignore[index]
    assert (panic["node"], panic["attempt"]) == ("w", 1)
    assert "pondage flow" in call("flow", "list", "other").out
    workers.failing.clear()
    again = call("flow", "resume", "mine", "--wait", "--json")
    assert again.code == 0, again.err
    assert again.json["flow"]["run"]["resumed_from"] == run["id"]  # type: ignore[index]


def test_a_flow_that_waits_is_stopped_by_node_or_as_a_whole(file: Path, call: Call) -> None:
    run = str(call("flow", "submit", str(file), "--json").json["run"])
    assert "no node 'x'" in call("flow", "stop", run, "x").err
    assert "STILL_RUNNING" in call("flow", "cleanup", run).err
    assert call("flow", "stop", run, "w").out == f"{run} was asked to stop w: it is RUNNING\n", "of w alone"
    assert "NODE" in call("flow", "show", run).out
    states = {one["name"]: one for one in call("flow", "show", run, "--json").json["flow"]["components"]}  # type: ignore[index]
    assert (states["w"]["state"], states["w"]["cause"]) == ("SKIPPED", "ABORTED(STOPPED)")
    assert "may end within 30 s" in call("flow", "stop", run).out


def test_a_flow_is_killed_by_its_own_verb_and_by_kill_and_resumed(file: Path, call: Call, workers: FakeWorkers) -> None:
    run = str(call("flow", "submit", str(file), "--json").json["run"])
    assert f"{run} is ABORTED; to go on later: pondage flow resume {run}" in call("flow", "kill", run).out
    assert "is over" in call("flow", "kill", run).err
    again = call("flow", "resume", run, "--wait", "--json")
    assert again.code == 0, again.err
    another = str(call("flow", "submit", str(file), "--json").json["run"])
    assert f"pondage flow resume {another}" in call("kill", another).out
    assert call("flow", "show", another, "--json").json["flow"]["run"]["code"] == "KILLED"  # type: ignore[index]


def test_cleaning_up_lets_tables_go_but_not_what_can_be_extracted(file: Path, call: Call, workers: FakeWorkers) -> None:
    run = call("flow", "submit", str(file), "--wait", "--json").json["flow"]["run"]["id"]  # type: ignore[index]
    said = call("flow", "cleanup", run).out
    assert said.startswith("given up between nodes: 2 tables and 0 streams; their files go with the first vacuum ")
    again = call("flow", "cleanup", run, "--json").json
    assert (again["tables"], again["streams"]) == (0, 0)  # type: ignore[index]
    assert again["files_go_at"] > time.time() * 1e6, "not at once: somebody may be reading them"  # type: ignore[index]
    shown = call("flow", "show", run, "--json").json
    assert shown["cleaned_at"] is not None  # type: ignore[index]
    assert shown["extracts"][0]["state"] == "ready"  # type: ignore[index]


def test_an_extract_is_fetched_as_bytes_from_any_offset(
    file: Path, call: Call, workers: FakeWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = call("flow", "submit", str(file), "--wait", "--json").json["flow"]["run"]["id"]  # type: ignore[index]
    batch = pa.RecordBatch.from_pylist([{"id": 1}, {"id": 2}])
    monkeypatch.setattr("pondage.connect.extraction._batches", lambda _piece: iter([batch]))
    assert call("flow", "extract", run, "rows").out == '{"id":1}\n{"id":2}\n'
    target = file.parent / "rows.ndjson"
    assert "18 bytes of ndjson" in call("flow", "extract", "people", "rows", "-o", str(target)).out
    target.write_bytes(target.read_bytes()[:5])
    call("flow", "extract", run, "rows", "-o", str(target), "--offset", "5")
    assert target.read_text(encoding="utf-8") == '{"id":1}\n{"id":2}\n'
    assert "it has rows" in call("flow", "extract", run, "nope", "-o", str(target)).err
    assert target.read_text(encoding="utf-8") == '{"id":1}\n{"id":2}\n', "what failed leaves the file as it was"
    assert "BAD_OFFSET" in call("flow", "extract", run, "rows", "-o", str(target), "--offset", "99").err
    assert [each.name for each in file.parent.glob("rows*")] == ["rows.ndjson"]
    waiting = str(call("flow", "submit", str(file), "--json").json["run"])
    assert "EXTRACT_WAITS" in call("flow", "extract", waiting, "rows", "--no-wait").err


def test_a_constant_that_nobody_has_stored_is_refused_by_check_and_by_submit(file: Path, call: Call) -> None:
    def write(ref: str) -> None:
        constant = {"type": "Bytes<text/csv>", "ref": ref}
        nodes = {"c": {"const": constant}, "l": {"prog": "lines"}, "s": {"prog": "sink"}}
        edges = [["c.out", "l.in"], ["l.out", "s.in"]]
        file.write_text(json.dumps({"version": 1, "nodes": nodes, "edges": edges}), encoding="utf-8")

    write("sha256:" + "ab" * 32)
    unknown = call("flow", "check", str(file))
    assert "is not known: there is no ledger here" in unknown.err
    data = file.with_suffix(".csv")
    data.write_text("id\n1\n")
    ref = str(call("flow", "store", str(data), "--json").json["ref"])
    for verb in ("check", "submit"):
        refused = call("flow", verb, str(file))
        assert refused.code == 4
        assert "/nodes/c/const/ref: c: nobody has stored this constant" in refused.out
        assert "[UNKNOWN_REF]" in refused.out
    write(ref)
    said = call("flow", "check", str(file))
    assert said.code == 0, said.err
