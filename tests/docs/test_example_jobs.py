"""The example jobs: every file is valid, and the pictures in the documentation are theirs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from pondage.cli.files.job import planned_file
from pondage.cli.look.job.graph import svg_of
from pondage.components.registry import built_in
from pondage.define.job.job import JobRefused
from pondage.ledger.tables.job_plans import StoredJob, stored_job
from tests.docs.examples import blocks

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "jobs"
JOBS = sorted(
    file.stem for file in (EXAMPLES / "jobs").glob("*.yaml") if "\njob:" in f"\n{file.read_text(encoding='utf-8')}"
)


@pytest.mark.parametrize("name", JOBS)
def test_an_example_is_valid_and_its_picture_is_the_one_in_the_documentation(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES)
    planned = planned_file(EXAMPLES / "jobs" / f"{name}.yaml")
    assert planned.warnings == ()
    picture = (ROOT / "docs" / "jobs" / f"{name}.svg").read_text(encoding="utf-8")
    assert picture == svg_of(planned.plan), f"draw it again: pondage job graph jobs/{name}.yaml --svg"
    assert f"jobs/{name}.svg" in (ROOT / "docs" / "jobs.md").read_text(encoding="utf-8")


JOB = """
components:
  - {name: t, type: table, params: {columns: {id: bigint}, rows: [[1]]}}
  - {name: s, type: select, params: {columns: [id]}}
  - {name: f, type: filter, params: {where: "id > 0"}}
connections: {data: [t.main -> s.input, s.main -> f.input]}
"""


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("id > 0", "id >", "EXPR_SYNTAX"),
        ("id: bigint", "id: 'bigint<'", "PARAMS_SCHEMA"),
        ("id: bigint", "id: bigit", "PARAMS_SCHEMA"),
        ("id: bigint", "id: 'Table<{a: int}>'", "PARAMS_SCHEMA"),
        ("columns: [id]", "columns: id", "PARAMS_SCHEMA"),
        ("type: select", "type: selekt", "UNKNOWN_TYPE"),
    ],
)
def test_wrong_parameters_are_found_before_anything_runs(tmp_path: Path, old: str, new: str, code: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOB, encoding="utf-8")
    assert planned_file(file).unresolved == ()
    file.write_text(JOB.replace(old, new), encoding="utf-8")
    with pytest.raises(JobRefused) as raised:
        planned_file(file)
    assert code in [problem.code for problem in raised.value.problems]


def test_a_misspelt_type_of_a_column_is_refused_with_the_one_that_was_meant(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOB.replace("id: bigint", "id: bigit"), encoding="utf-8")
    with pytest.raises(JobRefused) as raised:
        planned_file(file)
    (problem,) = raised.value.problems
    assert problem.message == "t: params.columns.id: 'bigit' is no type of a column; did you mean 'bigint'?"


CONDITION = """
components:
  - {name: t, type: table, params: {columns: {id: bigint}, rows: [[1]]}}
  - {name: w, type: write_parquet, params: {path: out}}
  - {name: seen, type: log_globals}
connections: {data: [t.main -> w.input], control: ['w (if1): "CONDITION" seen']}
"""
UNKNOWN = "w (if1): nothing writes 'row': where it is asked for, the condition is False; did you mean 'rows'?"


@pytest.mark.parametrize(
    ("condition", "warned"),
    [
        ("rows > 0 and context.row", []),
        ("row > 0 or row < 9", [UNKNOWN]),
        ("global.row > 0", [UNKNOWN.removesuffix("; did you mean 'rows'?")]),
        ("global.w__rows > 0 and it__CURRENT_VALUE", []),
        ("row >", None),
    ],
)
def test_a_name_in_a_condition_that_nothing_writes_is_warned_of(
    tmp_path: Path, condition: str, warned: list[str] | None
) -> None:
    file = tmp_path / "job.yaml"
    text = CONDITION.replace("CONDITION", condition)
    file.write_text(text, encoding="utf-8")
    if warned is None:
        with pytest.raises(JobRefused):
            planned_file(file)
        return
    assert [(one.code, one.message) for one in planned_file(file).warnings] == [("UNKNOWN_NAME", one) for one in warned]
    # Whatever may write any global keeps the warning away.
    file.write_text(text.replace("log_globals", "set_globals"), encoding="utf-8")
    assert planned_file(file).warnings == ()


def test_the_order_of_parameters_is_part_of_a_job(tmp_path: Path) -> None:
    found = []
    for number, columns in enumerate(("{b: bigint, a: string}", "{a: string, b: bigint}")):
        file = tmp_path / f"job{number}.yaml"
        file.write_text(f"components: [{{name: t, type: table, params: {{columns: {columns}, rows: []}}}}]\n")
        stored = stored_job(planned_file(file).plan, built_in())
        found.append(stored)
        back = msgspec.json.decode(msgspec.json.encode(stored), type=StoredJob)
        columns_again = back.plan.components[0].params["columns"]
        assert list(columns_again) == (["b", "a"], ["a", "b"])[number]  # type: ignore[call-overload]
    assert found[0].plan.hash != found[1].plan.hash


def test_the_job_and_the_component_of_the_documentation_are_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = ROOT / "docs" / "jobs.md"
    job = blocks(document, "yaml")[0]
    (code,) = [block for block in blocks(document, "python") if "@component" in block.text]
    (tmp_path / "pondage.toml").write_text('[project]\nname = "shop"\nmodules = ["parts.py"]\n')
    (tmp_path / "parts.py").write_text(code.text, encoding="utf-8")
    own = job.text.replace("type: filter, params: {where: price > 10}", "type: dearest, params: {count: 3}")
    assert own != job.text
    monkeypatch.chdir(tmp_path)
    for number, text in enumerate((job.text, own)):
        file = tmp_path / f"job{number}.yaml"
        file.write_text(text, encoding="utf-8")
        assert len(planned_file(file).plan.components) == 3
