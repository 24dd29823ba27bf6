"""Job files: the dialect, and everything that is wrong with a file at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from pondage.conform.control_registry import TEST_REGISTRY
from pondage.define.job.job import JobRefused
from pondage.plan.job.planner import PlannedJob, plan_job
from pondage.project.job import LoadedJob, job_schema, load_job, load_job_file


def load(text: str, **joblets: str) -> LoadedJob:
    return load_job(text, lambda name: (joblets[name], f"{name}.yaml") if name in joblets else None, file="job.yaml")


def planned(text: str, **joblets: str) -> PlannedJob:
    loaded = load(text, **joblets)
    if loaded.job is None:
        raise JobRefused(loaded.problems)
    return plan_job(loaded.job, loaded.joblets, TEST_REGISTRY, problems=loaded.problems)


def codes(text: str, **joblets: str) -> list[str]:
    with pytest.raises(JobRefused) as caught:
        planned(text, **joblets)
    return [problem.code for problem in caught.value.problems]


TWO = "components: [{name: a, type: task}, {name: b, type: task}]\n"


@pytest.mark.parametrize(
    "connections",
    [
        "{control: [a (ok) b]}",
        "{control: [{from: a, on: ok, to: [b]}]}",
        "{control: {a (ok) b: null}}",
        "{control: a (ok) b}",
    ],
)
def test_all_spellings_of_a_control_edge_are_one(connections: str) -> None:
    job = load(f"{TWO}connections: {connections}\n").job
    assert job is not None
    assert [(edge.source, edge.kind, edge.target) for edge in job.control] == [("a", "ok", "b")]


def test_conditions_may_be_written_with_or_without_if_and_in_full() -> None:
    text = (
        TWO
        + """connections:
  control:
    - 'a (if1): "x > 0" b'
    - 'a (2): "y == ''q''" b'
    - {from: a, if: "z", order: 3, to: b}
"""
    )
    job = load(text).job
    assert job is not None
    assert [(edge.order, edge.expression) for edge in job.control] == [(1, "x > 0"), (2, "y == 'q'"), (3, "z")]


def test_bare_lines_of_data_are_one_folded_text() -> None:
    text = """components: [{name: f, type: fanout}, {name: s, type: split}]
connections:
  data:
    f.output_10 -> s.input_10
    f.output_2 -> s.input_2
"""
    plan = planned(text).plan
    assert [port.name for port in plan.components[1].ports] == ["input_2", "input_10"]
    assert plan.components[0].outputs == ("output_2", "output_10")


def test_all_errors_are_reported_with_their_places() -> None:
    text = """components:
  - {name: a, type: nosuch}
  - {name: a, type: task}
  - {name: k, type: "@missing"}
connections:
  data:
    - a -> b
  control:
    - a (sometimes) k
    - a (ok) nobody
"""
    with pytest.raises(JobRefused) as caught:
        planned(text)
    found = {(problem.code, problem.path, problem.place.line) for problem in caught.value.problems}
    assert {
        ("BAD_CONNECTION", "$.connections.data[0]", 7),
        ("BAD_CONNECTION", "$.connections.control[0]", 9),
        ("UNKNOWN_TYPE", None, 2),
        ("DUPLICATE_NAME", None, 3),
        ("JOBLET_NOT_FOUND", None, 4),
        ("UNKNOWN_COMPONENT", None, 10),
    } <= found


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("components: [{name: a}]", "$.components[0]"),
        ("components: [{name: 1a, type: task}]", "$.components[0].name"),
        ("components: []", "$.components"),
        ("{}", "$"),
        ("", "$"),
        ("components: [{name: a, type: task, colour: red}]", "$.components[0]"),
        (TWO + "job_config: {fail_strategy: maybe}", "$.job_config.fail_strategy"),
        (TWO + "job_config: {nonsense: 1}", "$.job_config"),
    ],
)
def test_a_wrong_shape_is_named_by_its_path(text: str, path: str) -> None:
    loaded = load(text)
    assert loaded.job is None
    assert path in [problem.path for problem in loaded.problems if problem.code == "SCHEMA"]


LAUGHS = "a: &a [x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 8)}]\n" for before, after in zip("abcdef", "bcdefg", strict=True)
)


@pytest.mark.parametrize(
    "text",
    [
        "components: !!python/object/apply:os.system ['id']",
        LAUGHS,
        "components: [",
        "a: 1\na: 2",
        "? [x]\n: 1",
        "\t- x",
        "[" * 200,
    ],
)
def test_dangerous_or_broken_yaml_is_refused(text: str) -> None:
    loaded = load(text)
    assert loaded.job is None
    assert {problem.code for problem in loaded.problems} <= {"YAML_SYNTAX", "SCHEMA"}
    assert loaded.problems


def test_joblets_are_found_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "joblets").mkdir()
    (tmp_path / "joblets" / "inner.yaml").write_text("components: [{name: x, type: task}]\n", encoding="utf-8")
    (tmp_path / "job.yaml").write_text("components: [{name: k, type: '@inner'}]\n", encoding="utf-8")
    loaded = load_job_file(tmp_path / "job.yaml")
    assert list(loaded.joblets) == ["inner"]
    assert load("components: [{name: k, type: '@../secret'}]\n").joblets == {}


def test_the_schema_is_published_in_the_package() -> None:
    assert job_schema()["required"] == ["components"]


def one(edge: str, types: tuple[str, ...] = ("task", "task", "task"), extra: str = "") -> str:
    names = "abcdefg"
    components = ", ".join(f"{{name: {names[at]}, type: {kind}}}" for at, kind in enumerate(types))
    return f"components: [{components}]\nconnections:\n  control:\n{edge}{extra}"


INTO_AN_ITERATION = """
components: [{name: it, type: iterator}, {name: x, type: transform}, {name: o, type: task}]
connections: {data: [it.item -> x.input], control: [o (ok) x]}
"""


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("CYCLE_DETECTED", one("    - a (ok) b\n    - b (error) a\n")),
        ("CYCLE_DETECTED", one("    - 'a (if1): \"1 == 2\" c'\n    - a (subjob_ok) b\n    - b (ok) c\n")),
        ("PARALLELISE_FANOUT", one("    - a (parallelise) b\n")),
        ("AMBIGUOUS_FORK", one("    - a (parallelise) b, c\n    - d (parallelise) b, c\n", ("task",) * 4)),
        ("AMBIGUOUS_JOIN", one("    - a, b (synchronise) c\n")),
        ("ITERATOR_EDGE", one("    - a (iteration_ok) b\n")),
        ("DUPLICATE_IF_ORDER", one("    - 'a (if1): \"1\" b'\n    - 'a (if1): \"2\" c'\n")),
        ("EXPR_SYNTAX", one("    - 'a (if1): \"1 +\" b'\n")),
        ("UNKNOWN_PORT", one("    - a (ok) b\n", extra="  data: [a.nope -> b.input]\n")),
        ("MULTI_IN_NOT_ALLOWED", one("    - a (ok) c\n", extra="  data: [a.main -> c.input, b.main -> c.input]\n")),
        ("UNCONNECTED_NODE", "components: [{name: t, type: transform}]\n"),
        ("EDGE_INTO_ITERATION", INTO_AN_ITERATION),
        ("PARAMS_SCHEMA", "components: [{name: it, type: iterator, params: {mode: often, parallel: 0}}]\n"),
        ("EXPR_SYNTAX", "components: [{name: it, type: iterator, params: {mode: while, condition: 'x y'}}]\n"),
    ],
)  # fmt: skip
def test_every_code_of_the_planner_has_a_job_that_earns_it(code: str, text: str) -> None:
    assert code in codes(text)


def test_a_joblet_that_calls_itself_is_refused() -> None:
    inner = "components: [{name: k, type: '@inner'}]\n"
    assert codes("components: [{name: k, type: '@inner'}]\n", inner=inner) == ["JOBLET_RECURSION_DEPTH"]


def test_doubtful_jobs_are_warned_of() -> None:
    racy = planned(one("    - a (ok) c\n    - b (ok) c\n"))
    assert [warning.code for warning in racy.warnings] == ["RACY_OR_JOIN"]
    early = planned(one("    - a (ok) b\n", ("task", "always")))
    assert [warning.code for warning in early.warnings] == ["STARTABLE_WITH_CONTROL"]
    assert planned(one("    - a (ok) b\n    - b (ok) c\n")).warnings == ()


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        (
            "components:\n  - {name: a, type: !!python/name:os.system ''}\n",
            2,
            21,
            "!!python/name:os.system is not allowed",
        ),
        ("components: !!python/tuple [a]\n", 1, 13, "!!python/tuple is not allowed"),
        ("components:\n  - !!python/object:os.x {name: a}\n", 2, 5, "!!python/object:os.x is not allowed"),
        ("!!python/name:os.system components: []\n", 1, 1, "!!python/name:os.system is not allowed"),
        ("components:\n  - {name: a, params: {seconds: .nan}}\n", 2, 33, ".nan is no number"),
        ("components:\n  - {name: a, params: {seconds: -.inf}}\n", 2, 33, "-.inf is no number"),
        ("job: " + "[" * 60 + "]" * 60, 1, 56, "nested deeper than 50 levels"),
        ("a: " + "9" * 500_000, 1, 4, "a number has at most 400 characters, not 500000"),
    ],
)
def test_what_is_no_plain_value_is_refused_where_it_stands(text: str, line: int, column: int, said: str) -> None:
    (problem,) = load(text).problems
    assert (problem.code, problem.place.line, problem.place.column) == ("YAML_SYNTAX", line, column)
    assert said in problem.message
    assert len(problem.message) < 200


@pytest.mark.parametrize(
    ("data", "line", "column", "said"),
    [
        ("components: []\n".encode("utf-16"), 1, 1, "not UTF-8: byte 1 (it looks like UTF-16)"),
        (b"components: []\nname: \xe4", 2, 7, "not UTF-8: byte 22"),
    ],
)
def test_a_file_that_is_not_utf8_has_a_place(tmp_path: Path, data: bytes, line: int, column: int, said: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_bytes(data)
    (problem,) = load_job_file(file).problems
    assert (problem.code, problem.place.line, problem.place.column) == ("YAML_SYNTAX", line, column)
    assert said in problem.message


@pytest.mark.parametrize("given", ["parallel: 99999999999", "max_iterations: 99999999999", "parallel: 0"])
def test_an_iterator_takes_no_absurd_numbers(given: str) -> None:
    text = f"components: [{{name: i, type: iterator, params: {{{given}}}}}, {{name: b, type: task}}]\n"
    assert "PARAMS_SCHEMA" in codes(text + "connections: {control: [i (iterate) b]}\n")
