"""`pondage job validate|graph|trace`: everything on the planner and the virtual host."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from click.testing import CliRunner, Result

from pondage.cli.look.job import job
from pondage.components.registry import built_in
from pondage.conform.control_registry import TEST_REGISTRY

TEXT = """
components:
  - {name: extract, type: source}
  - {name: load, type: transform}
  - {name: alert, type: task}
  - {name: it, type: iterator}
  - {name: each, type: transform}
connections:
  data:
    - extract.main -> load.input
    - it.item -> each.input
  control:
    - extract (ok) load
    - load (error) alert
    - load (ok) it
"""


@pytest.fixture(autouse=True)
def _test_components(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pondage.cli.files.registry.known_components", lambda: TEST_REGISTRY)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def call(*arguments: object) -> Result:
    return CliRunner().invoke(job, [str(argument) for argument in arguments])


def test_a_good_job_is_ok_and_a_bad_one_shows_all_its_problems(file: Path, tmp_path: Path) -> None:
    assert call("validate", file).output.startswith("ok: 4 components, 1 sub-job, ")
    bad = tmp_path / "bad.yaml"
    bad.write_text(TEXT.replace("transform}", "nope}").replace("(error)", "(oops)"), encoding="utf-8")
    result = call("validate", bad)
    assert result.exit_code == 4
    assert "[UNKNOWN_TYPE]" in result.output
    assert f"{bad}:14:7: $.connections.control[1]" in result.output
    found = msgspec.json.decode(call("validate", bad, "--json").output)
    assert {problem["code"] for problem in found["problems"]} >= {"UNKNOWN_TYPE", "BAD_CONNECTION"}


def test_the_graph_is_text_a_picture_or_the_plan(file: Path, tmp_path: Path) -> None:
    text = call("graph", file).output
    assert "(error) alert" in text
    assert "for each element:" in text
    picture = tmp_path / "job.svg"
    call("graph", file, "--svg", picture)
    assert ElementTree.fromstring(picture.read_text(encoding="utf-8")).tag.endswith("svg")
    assert msgspec.json.decode(call("graph", file, "--json").output)["components"][0]["name"] == "extract"


def test_a_trace_shows_the_exact_timeline(file: Path) -> None:
    lines = call("trace", file, "--fail", "load=broken", "--takes", "extract=2500ms").output.splitlines()
    assert lines[3].split() == ["2.5s", "extract", "OK"]
    assert any(line.split()[-3:] == ["load", "ERROR", "[broken]"] for line in lines)
    assert any("«load -error-> alert»" in line for line in lines)
    assert lines[-1].endswith("job OK")
    found = msgspec.json.decode(call("trace", file, "--items", "it=3", "--fail", "each[#2]", "--json").output)
    assert found["job_state"] == "ERROR"
    assert found["states"]["each[#2]"] == "ERROR"
    assert call("trace", file, "--kill-at", "500ms").output.splitlines()[-1].endswith("graceful checkpoint")
    assert call("trace", file, "--fail", "nobody").exit_code == 1


def test_all_failures_are_played(file: Path) -> None:
    found = msgspec.json.decode(call("trace", file, "--all-failures", "--json").output)
    assert found["handled"] == ["load"], "alert runs only after another failure"
    assert found["unhandled"] == ["extract", "it", "each"]
    assert found["never_run"] == []


DOUBTFUL = """
components:
  - {name: read, type: source}
  - {name: warn, type: task}
  - {name: one, type: source}
  - {name: other, type: source}
  - {name: both, type: join2}
  - {name: left, type: task}
  - {name: right, type: task}
  - {name: end, type: task}
connections:
  data: [one.main -> both.left, other.main -> both.right]
  control:
    - 'read (if1): "rows > 5" warn'
    - read (ok) one
    - read (error) other
    - both (parallelise) left, right
    - left, right (synchronise) end
"""


def test_what_runs_behind_a_condition_can_run_and_what_needs_two_outcomes_at_once_cannot(tmp_path: Path) -> None:
    file = tmp_path / "doubtful.yaml"
    file.write_text(DOUBTFUL)
    found = msgspec.json.decode(call("trace", file, "--all-failures", "--json").output)
    assert found["never_run"] == ["both", "left", "right", "end"]
    assert found["skipped_joins"] == ["end"]
    assert "warn" in found["unhandled"], "it fails in the plays in which the condition is true"
    assert found["handled"] == ["read"]
    shown = call("trace", file, "--all-failures").output
    assert "never runs: both, left, right, end" in shown
    assert "with conditions true" in shown


FUSED = """
components:
  - {name: t, type: table, params: {columns: {id: bigint}, rows: [[1], [2]]}}
  - {name: d, type: derive, params: {columns: {double: id * 2}}}
  - {name: s, type: select, params: {columns: [double]}}
connections:
  data: [t.main -> d.input, d.main -> s.input]
"""


def test_a_trace_shows_fused_groups_and_which_member_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pondage.cli.files.registry.known_components", built_in)
    file = tmp_path / "fused.yaml"
    file.write_text(FUSED)
    shown = call("trace", file, "--fail", "d").output
    assert "fused  t, d, s" in shown
    assert "t OK" in shown
    assert "d ERROR [it failed]" in shown
    assert "s SKIPPED [DATA_STARVED(input)]" in shown


INNER = """
components: [{name: work, type: task}, {name: mend, type: task}]
connections: {control: [work (error) mend]}
"""
OUTER = """
components: [{name: k, type: '@inner'}, {name: alarm, type: task}]
connections: {control: ['k (error) alarm']}
"""


def test_a_handler_that_needs_two_failures_is_found_and_runs(tmp_path: Path) -> None:
    (tmp_path / "inner.yaml").write_text(INNER)
    file = tmp_path / "outer.yaml"
    file.write_text(OUTER)
    found = msgspec.json.decode(call("trace", file, "--all-failures", "--json").output)
    assert (found["never_run"], found["unseen"]) == ([], [])
    assert found["together"] == {"alarm": ["k.__mend", "k.__work"]}
    assert "runs only when k.__mend and k.__work fail: alarm" in call("trace", file, "--all-failures").output


def test_never_is_only_said_when_every_way_was_played(tmp_path: Path) -> None:
    """With more components than can be played in all ways, what did not run is not said to be impossible."""
    file = tmp_path / "many.yaml"
    others = "".join(f"  - {{name: t{number}, type: task}}\n" for number in range(12))
    file.write_text(DOUBTFUL.replace("connections:", others + "connections:"))
    found = msgspec.json.decode(call("trace", file, "--all-failures", "--json").output)
    assert found["never_run"] == []
    assert found["unseen"] == ["both", "left", "right", "end"]
    assert "ran in no play" in call("trace", file, "--all-failures").output
