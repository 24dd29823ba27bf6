"""From the JSON of a plan to values, by white lists: what no rule names is said, never passed over."""

from typing import Any

import msgspec
import pytest

from pondage.plan.incremental.algebra import JoinKind, NotUnderstood
from pondage.plan.incremental.reading import read_plan, shape

PLANS, EXPRESSIONS = "org.apache.spark.sql.catalyst.plans.logical.", "org.apache.spark.sql.catalyst.expressions."
Json = dict[str, Any]


def node(kind: str, children: int = 1, **fields: object) -> Json:
    return {"class": PLANS + kind, "num-children": children, **fields}


def expression(kind: str, children: int = 0, **fields: object) -> Json:
    return {"class": EXPRESSIONS + kind, "num-children": children, **fields}


def column(number: int, type_name: object = "integer") -> Json:
    identity = {"id": number, "jvmId": "one"}
    return expression("AttributeReference", name=f"c{number}", dataType=type_name, exprId=identity)


def alias(number: int) -> Json:
    return expression("Alias", 1, name=f"c{number}", exprId={"id": number, "jvmId": "one"})


def table(name: str, *columns: Json, path: str = "here") -> list[Json]:
    return [
        node("SubqueryAlias", identifier={"name": f"__src_{name}"}),
        node("LogicalRelation", 0, output=[[each] for each in columns], path=path),
    ]


def read(*nodes: Json, output: int = 1) -> Any:
    return read_plan(msgspec.json.encode(list(nodes)), [("c", "integer")] * output)


def test_a_table_is_a_leaf_with_its_columns_whatever_reads_it() -> None:
    root = read(node("Project", projectList=[[column(1)]]), *table("orders", column(1), column(2)))
    leaf = root.leaves[0]
    assert (leaf.source, leaf.path, [each.id for each in leaf.output]) == ("orders", (0,), [1, 2])
    assert [each.id for each in root.output] == [1]


def test_a_relation_that_is_no_table_is_said() -> None:
    with pytest.raises(NotUnderstood, match="LogicalRelation"):
        read(node("LogicalRelation", 0, output=[[column(1)]]))


@pytest.mark.parametrize("kind", ["Sample", "MapInPandas", "EventTimeWatermark", "LateralJoin", "SomethingNew"])
def test_an_operator_that_no_rule_names_is_said(kind: str) -> None:
    with pytest.raises(NotUnderstood, match=kind):
        read(node(kind), *table("orders", column(1)))


@pytest.mark.parametrize("kind", ["CurrentDate", "Rand", "ScalaUDF", "InputFileName", "SomethingNew"])
def test_an_expression_that_no_rule_names_is_said(kind: str) -> None:
    made = [alias(5), expression(kind)]
    with pytest.raises(NotUnderstood, match=kind):
        read(node("Project", projectList=[made]), *table("orders", column(1)))


@pytest.mark.parametrize("type_name", ["variant", "string collate UTF8_LCASE", {"type": "map"}, {"type": "udt"}])
def test_a_type_that_no_rule_names_is_said(type_name: object) -> None:
    with pytest.raises(NotUnderstood, match="the type"):
        read(node("Project", projectList=[[column(1, type_name)]]), *table("orders", column(1)))


@pytest.mark.parametrize(
    ("deterministic", "kind", "is_known"),
    [(True, 100, True), (False, 100, False), (True, 201, False), (True, 204, False)],
)
def test_a_python_function_is_known_when_it_sees_one_row(deterministic: bool, kind: int, is_known: bool) -> None:
    udf = expression("PythonUDF", 1, udfDeterministic=deterministic, evalType=kind, dataType="integer")
    nodes = (node("Project", projectList=[[alias(5), udf, column(1)]]), *table("orders", column(1)))
    if is_known:
        assert read(*nodes).lists["columns"][0].children[0].kind == "PythonUDF"
    else:
        with pytest.raises(NotUnderstood, match="Python"):
            read(*nodes)


def test_an_aggregate_function_is_known_only_in_an_aggregate() -> None:
    whole = {"object": EXPRESSIONS + "aggregate.Complete$"}
    summed = [alias(5), expression("aggregate.AggregateExpression", 1, mode=whole, isDistinct=False)]
    summed += [expression("aggregate.Sum", 1), column(1)]
    root = read(node("Aggregate", groupingExpressions=[], aggregateExpressions=[summed]), *table("orders", column(1)))
    assert root.lists["columns"][0].children[0].detail == (("distinct", "False"),)
    with pytest.raises(NotUnderstood, match="aggregate in Project"):
        read(node("Project", projectList=[summed]), *table("orders", column(1)))


def test_an_existence_join_has_a_column_of_its_own() -> None:
    join = node("Join", 2, joinType={"exists": [column(9, "boolean")]}, condition=[column(9, "boolean")])
    root = read(join, *table("a", column(1)), *table("b", column(2)), output=2)
    assert (root.join, [each.id for each in root.output]) == (JoinKind.EXISTENCE, [1, 9])
    with pytest.raises(NotUnderstood, match="join of a kind"):
        read(node("Join", 2, joinType={"object": "plans.LeftSingle$"}), *table("a", column(1)), *table("b", column(2)))


def test_a_subquery_that_is_left_hides_its_tables() -> None:
    inner = [node("Project", projectList=[[column(2)]]), *table("b", column(2))]
    root = read(
        node("Project", projectList=[[alias(5), expression("ScalarSubquery", plan=inner)]]), *table("a", column(1))
    )
    assert (root.all_hidden, root.sources) == ({"b"}, {"a", "b"})
    outer = expression("ScalarSubquery", 1, plan=inner)
    with pytest.raises(NotUnderstood, match="rows around it"):
        read(node("Project", projectList=[[alias(5), outer, column(1)]]), *table("a", column(1)))


def test_the_shape_forgets_ids_and_files_but_not_columns_and_constants() -> None:
    def of(number: int, value: str, name: str, path: str) -> str:
        compared = [
            expression("GreaterThan", 2),
            column(number),
            expression("Literal", value=value, dataType="integer"),
        ]
        nodes = [node("Filter", condition=compared), *table(name, column(number), path=path)]
        # What a column is called is part of a table, its number is not.
        text = msgspec.json.encode(nodes).replace(f'"c{number}"'.encode(), b'"c"')
        return shape(text)

    assert of(1, "3", "orders", "here") == of(7, "3", "orders", "there")
    assert len({of(1, "3", "orders", "here"), of(1, "4", "orders", "here"), of(1, "3", "items", "here")}) == 3
