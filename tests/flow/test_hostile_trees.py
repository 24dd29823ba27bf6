"""The corpus of hostile trees: each is refused, quickly, with its code and pointer, and can be shown."""

from __future__ import annotations

import pytest

from pondage.cli.files.tree import problem_line
from pondage.define.job.flow import FlowRefused
from tests.flow.hostile import CORPUS, Attack
from tests.flow.programs import planned


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
