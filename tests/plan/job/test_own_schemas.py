"""The `schema` function of a project's own component: a job is planned with the types that it gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pondage.cli.look.job import job

PARTS = """
from pondage import WrongInput, component

def _marked(inputs, params):
    print("whatever it prints goes nowhere")
    if params.get("mood") == "angry":
        raise ValueError("I do not feel like it")
    if "id: bigint" not in inputs["input"]:
        raise WrongInput("input", "Table<{id: bigint | R}>", "it needs the id")
    return {"main": "Table<{id: bigint, mark: string}>"}

@component("mark", inputs={"input": "Table<Any>"}, outputs={"main": "Table<Any>"}, schema=_marked)
def mark(input, *, params, run):
    return input
"""

POND = """
from pondage import Pond

marks = Pond("marks")
marks.job("mark", "jobs/marked.yaml")
"""

JOB = """
job: {name: marked}
outputs: {main: kept.main}
components:
  - {name: rows, type: table, params: {columns: {id: bigint}, rows: [[1]]}}
  - {name: mark, type: mark, params: {mood: calm}}
  - {name: kept, type: select, params: {columns: [id, mark]}}
connections:
  data:
    - rows.main -> mark.input
    - mark.main -> kept.input
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("parts", "ponds", "jobs"):
        (tmp_path / name).mkdir()
    text = '[project]\nname = "own"\nmodules = ["parts/mark.py", "ponds/marks.py"]\n'
    (tmp_path / "pondage.toml").write_text(text, encoding="utf-8")
    (tmp_path / "parts/mark.py").write_text(PARTS, encoding="utf-8")
    (tmp_path / "ponds/marks.py").write_text(POND, encoding="utf-8")
    (tmp_path / "jobs/marked.yaml").write_text(JOB, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def validate(project: Path, text: str) -> Result:
    # Under another name, so that the project itself stays whole.
    (project / "jobs/edited.yaml").write_text(text, encoding="utf-8")
    return CliRunner().invoke(job, ["validate", "jobs/edited.yaml"])


def test_the_types_that_it_gives_are_known_behind_it(project: Path) -> None:
    good = validate(project, JOB)
    assert good.exit_code == 0, good.output
    bad = validate(project, JOB.replace("columns: [id, mark]", "columns: [id, marks]"))
    assert bad.exit_code == 4
    assert "got Table<{id: bigint, mark: string}>: there is no column 'marks' [TYPE_MISMATCH]" in bad.output


def test_what_it_cannot_take_is_told_at_the_edge_and_what_it_raises_at_the_component(project: Path) -> None:
    refused = validate(project, JOB.replace("{id: bigint}", "{id: string}"))
    assert "jobs/edited.yaml:10:7: rows.main -> mark.input: wanted Table<{id: bigint | R}>" in refused.output
    assert "it needs the id [TYPE_MISMATCH]" in refused.output
    failed = validate(project, JOB.replace("calm", "angry"))
    assert "jobs/edited.yaml:6:5: mark: the schema function of mark failed: ValueError" in failed.output
    assert failed.exit_code == 4


def test_a_job_that_is_the_body_of_a_ripple_is_planned_with_them_too(project: Path) -> None:
    from pondage.errors import PondageError
    from pondage.project.project import load_project
    from pondage.project.reader import read_declared

    assert read_declared(load_project(project)).schemas == {"mark"}
    (project / "jobs/marked.yaml").write_text(JOB.replace("[id, mark]", "[id, marks]"), encoding="utf-8")
    with pytest.raises(PondageError, match="there is no column 'marks'"):
        read_declared(load_project(project))
