"""Programs of the library name columns that come in: a tree or job that names another one is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pondage.components.registry import built_in, built_in_schemas
from pondage.define.job.flow import FlowRefused
from pondage.define.job.job import JobRefused
from pondage.plan.flow.planner import plan_flow
from pondage.plan.job.planner import plan_job
from pondage.project.job import load_job
from pondage.project.tree import load_tree

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
        ("select", {"columns": ["id", "{}"]}, ["main"]),
        ("rename", {"columns": {"{}": "total"}}, ["main"]),
        ("cast", {"columns": {"{}": "string"}}, ["main"]),
        ("sort", {"by": ["id", "{}"]}, ["main"]),
        ("dedupe", {"keys": ["id"], "order": ["{}"]}, ["main"]),
        ("aggregate", {"by": ["{}"], "values": {"n": {"function": "count"}}}, ["main"]),
        ("aggregate", {"values": {"n": {"function": "sum", "column": "{}"}}}, ["main"]),
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


JOB = """
components:
  - {{name: orders, type: table, params: {{columns: {{id: bigint, shop: string}}, rows: []}}}}
  - {{name: shops, type: table, params: {{columns: {{shop: string, town: string}}, rows: []}}}}
  - {{name: both, type: {type}, params: {{{params}}}}}
connections:
  data:
    - orders.main -> both.{left}
    - shops.main -> both.{right}
"""


@pytest.mark.parametrize(
    ("type_", "params", "said"),
    [
        ("join", "on: [id]", ["shops.main -> both.right: ", "there is no column 'id'"]),
        ("join", "on: [town]", ["orders.main -> both.left: ", "there is no column 'town'"]),
        ("semi_join", "on: [id]", ["shops.main -> both.right: ", "there is no column 'id'"]),
        ("lookup", "on: [town]", ["orders.main -> both.input: ", "there is no column 'town'"]),
        ("lookup", "on: [shop], columns: [street]", ["shops.main -> both.table: ", "there is no column 'street'"]),
    ],
)
def test_both_sides_of_a_join_must_have_what_it_names(type_: str, params: str, said: list[str]) -> None:
    with pytest.raises(JobRefused) as refused:
        plan_two(type_, params)
    (problem,) = refused.value.problems
    assert problem.code == "TYPE_MISMATCH"
    for words in said:
        assert words in problem.message


def test_a_column_of_both_sides_that_is_no_key_is_refused_before_the_run() -> None:
    text = JOB.format(type="join", params="on: [id]", left="left", right="right").replace("town: string", "id: bigint")
    with pytest.raises(JobRefused) as refused:
        plan_text(text)
    assert "both tables have a column 'shop', which is no key" in refused.value.problems[0].message


@pytest.mark.parametrize(
    ("how", "found"),
    [
        ("inner", "Table<{id: bigint not null, a: int not null, b: int not null}>"),
        ("left", "Table<{id: bigint not null, a: int not null, b: int}>"),
        ("right", "Table<{id: bigint not null, a: int, b: int not null}>"),
        ("full", "Table<{id: bigint not null, a: int, b: int}>"),
        ("semi", "Table<{id: bigint not null, a: int not null}>"),
    ],
)
def test_the_side_that_a_join_may_lack_may_be_null(how: str, found: str) -> None:
    sides = {
        "left": "Table<{id: bigint not null, a: int not null}>",
        "right": "Table<{id: bigint not null, b: int not null}>",
    }
    assert built_in_schemas()["join"](sides, {"on": ["id"], "how": how}) == {"main": found}


def plan_two(type_: str, params: str) -> None:
    left, right = ("input", "table") if type_ == "lookup" else ("left", "right")
    plan_text(JOB.format(type=type_, params=params, left=left, right=right))


def plan_text(text: str) -> None:
    loaded = load_job(text, lambda name: None)
    assert loaded.job is not None
    plan_job(loaded.job, loaded.joblets, built_in(), schemas=built_in_schemas(), problems=loaded.problems)


@pytest.mark.parametrize(
    ("prog", "params", "outputs", "said"),
    [
        ("filter", {"where": "amount > 'x'"}, ["main"], 'float cannot be compared with text: in amount > "x"'),
        ("split", {"where": "id in ['a']"}, ["main", "reject"], "int cannot be compared with text"),
        ("derive", {"columns": {"least": "min(id, 'b')"}}, ["main"], "min takes values of one kind, not int and text"),
        ("derive", {"columns": {"big": "id > 3", "more": "big + 1"}}, ["main"], "`+` takes numbers, not bool"),
        ("assert", {"that": "lower(id) == 'a'"}, ["main"], "lower takes a text, not int"),
        ("check_rows", {"rules": {"SMALL": "len(amount) > 1"}}, ["main"], "len takes a text or a list, not float"),
    ],
)
def test_what_can_never_be_compared_or_computed_is_refused_before_the_run(
    prog: str, params: dict[str, Any], outputs: list[str], said: str
) -> None:
    with pytest.raises(FlowRefused) as refused:
        check(prog, params, *outputs)
    (problem,) = refused.value.problems
    assert (problem.code, problem.path) == ("TYPE_MISMATCH", "/edges/0")
    assert said in problem.message


def united(one: str, other: str, then: dict[str, Any], params: dict[str, Any] | None = None) -> None:
    document = {
        "version": 1,
        "nodes": {
            "a": {"const": {"type": one, "value": []}},
            "b": {"const": {"type": other, "value": []}},
            "u": {"prog": "union", "params": params or {}},
            "f": then,
        },
        "edges": [["a.out", "u.input"], ["b.out", "u.input"], ["u.main", "f.input"]],
        "extract": {"x": {"from": "f.main", "format": "arrow"}},
    }
    loaded = load_tree(json.dumps(document))
    assert loaded.tree is not None
    plan_flow(loaded.tree, built_in(), schemas=built_in_schemas(), locations={}, fuses=True)


def test_types_survive_a_union_so_that_what_follows_is_checked() -> None:
    table = "Table<{id: int, g: string}>"
    united(table, "Table<{g: string, id: bigint}>", {"prog": "filter", "params": {"where": "id > 1 and g != ''"}})
    with pytest.raises(FlowRefused) as refused:
        united(table, table, {"prog": "filter", "params": {"where": "nosuch > 1"}})
    (problem,) = refused.value.problems
    assert problem.path == "/edges/2"
    assert "there is no column 'nosuch'" in problem.message


def test_tables_that_lack_columns_are_united_only_when_it_is_said() -> None:
    one, other = "Table<{id: int}>", "Table<{ID: int, g: string}>"
    then = {"prog": "select", "params": {"columns": ["id", "g"]}}
    with pytest.raises(FlowRefused) as refused:
        united(one, other, then)
    assert "only one of the tables has a column 'g'" in refused.value.problems[0].message
    united(one, other, then, {"missing": "null"})


def test_types_survive_a_computed_column() -> None:
    document = {
        "version": 1,
        "nodes": {
            "a": CONST,
            "d": {"prog": "derive", "params": {"columns": {"twice": "id * 2", "AMOUNT": "id > 1"}}},
            "f": {"prog": "filter", "params": {"where": "twice > 'x'"}},
        },
        "edges": [["a.out", "d.input"], ["d.main", "f.input"]],
        "extract": {"x": {"from": "f.main", "format": "arrow"}},
    }
    loaded = load_tree(json.dumps(document))
    assert loaded.tree is not None
    with pytest.raises(FlowRefused) as refused:
        plan_flow(loaded.tree, built_in(), schemas=built_in_schemas(), locations={}, fuses=True)
    (problem,) = refused.value.problems
    assert "got Table<{id: bigint, AMOUNT: boolean, twice: bigint}>" in problem.message


def test_columns_that_differ_only_in_their_case_are_refused() -> None:
    loaded = load_tree(
        json.dumps(
            {
                "version": 1,
                "nodes": {"a": {"const": {"type": "Table<{a: int, A: int}>", "value": []}}},
                "edges": [],
                "extract": {"x": {"from": "a.out", "format": "arrow"}},
            }
        )
    )
    said = [problem.message for problem in loaded.problems]
    if loaded.tree is not None:
        with pytest.raises(FlowRefused) as refused:
            plan_flow(loaded.tree, built_in(), schemas=built_in_schemas(), locations={}, fuses=True)
        said = [problem.message for problem in refused.value.problems]
    assert any("are one column: Spark ignores the case" in each for each in said)
    with pytest.raises(FlowRefused) as renamed:
        check("rename", {"columns": {"amount": "ID"}}, "main")
    assert "are one column" in renamed.value.problems[0].message
