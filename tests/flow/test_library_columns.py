"""Expressions of the library's programs name columns that come in: a tree that names another one is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pondage.components.registry import built_in, built_in_schemas
from pondage.define.flow import FlowRefused
from pondage.plan.flow import plan_flow
from pondage.read.tree import load_tree

CONST = {"const": {"type": "Table<{id: bigint, amount: double}>", "value": [{"id": 1, "amount": 2.0}]}}


def check(prog: str, params: dict[str, Any], *outputs: str) -> None:
    document = {
        "version": 1,
        "nodes": {"a": CONST, "b": {"prog": prog, "params": params}},
        "edges": [["a.out", "b.input"]],
        "extract": {port: {"from": f"b.{port}", "format": "arrow"} for port in outputs},
    }
    loaded = load_tree(json.dumps(document))
    assert loaded.tree is not None
    plan_flow(loaded.tree, built_in(), schemas=built_in_schemas(), locations={}, fuses=True)


@pytest.mark.parametrize(
    ("prog", "params", "outputs"),
    [
        ("filter", {"where": "{} > 10"}, ["main"]),
        ("split", {"where": "{} > 10 and id in [1, 2]"}, ["main", "reject"]),
        ("assert", {"that": "abs({}) > 10"}, ["main"]),
        ("derive", {"columns": {"twice": "{} * 2", "more": "twice + id"}}, ["main"]),
        ("check_rows", {"rules": {"SMALL": "{} > 10", "ID": "id > 0"}}, ["main"]),
    ],
)
def test_a_column_that_nothing_brings_is_refused_at_its_edge(
    prog: str, params: dict[str, Any], outputs: list[str]
) -> None:
    def given(column: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(json.dumps(params).replace("{}", column))
        return found

    check(prog, given("amount"), *outputs)
    with pytest.raises(FlowRefused) as refused:
        check(prog, given("amountt"), *outputs)
    (problem,) = refused.value.problems
    assert (problem.code, problem.path) == ("TYPE_MISMATCH", "/edges/0")
    assert "there is no column 'amountt'" in problem.message
    assert "amount: double" in problem.message


def test_a_derived_column_sees_those_before_it_and_not_those_behind() -> None:
    with pytest.raises(FlowRefused) as refused:
        check("derive", {"columns": {"more": "twice + id", "twice": "amount * 2"}}, "main")
    assert "there is no column 'twice'" in refused.value.problems[0].message
