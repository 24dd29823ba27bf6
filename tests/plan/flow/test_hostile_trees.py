"""The corpus of hostile trees: each is refused, quickly, with its code and pointer, and can be shown."""

from __future__ import annotations

import pytest

from pondage.cli.files.tree import problem_line
from pondage.define.job.flow import FlowRefused
from pondage.project.tree import load_tree
from tests.plan.flow.hostile import CORPUS, Attack
from tests.plan.flow.programs import planned


@pytest.mark.parametrize("attack", CORPUS, ids=[attack[0][:40] for attack in CORPUS])
def test_a_hostile_tree_is_refused_where_it_is_hostile(attack: Attack) -> None:
    _, document, code, pointer = attack
    with pytest.raises(FlowRefused) as caught:
        planned(document)
    problems = caught.value.problems
    assert (code, pointer) in [(problem.code, problem.path) for problem in problems]
    for problem in problems:
        line = problem_line(problem)
        assert line.isprintable()
        assert len(problem.message) < 2_000
        line.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ('{"version": 1,\n "nodes": {"a": 1, "a": 2}}', 2, 20, 'the key "a" stands twice'),
        ('{"version": 1,\n "x": [NaN]}', 2, 8, "NaN is no number of JSON"),
        ('{"version": 1,\n "x": -Infinity}', 2, 7, "-Infinity is no number of JSON"),
        ('{"version":\n' + "9" * 500_000 + "}", 2, 1, "a number has at most 400 characters, not 500000"),
        ('{"version": 1,\n "x": }', 2, 7, "Expecting value"),
        ('{"a": {"b": ["a", "a", {"a": 1}], "a": "a"}, "c": "NaN"}', 0, 0, ""),
    ],
)
def test_what_is_no_json_has_a_line(text: str, line: int, column: int, said: str) -> None:
    problems = [problem for problem in load_tree(text).problems if problem.code == "JSON_SYNTAX"]
    if not said:
        assert problems == []
        return
    (problem,) = problems
    assert (problem.place.line, problem.place.column) == (line, column)
    assert said in problem.message
    assert len(problem.message) < 200
