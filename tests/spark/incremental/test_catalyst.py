"""Each call into Spark's internals by itself: when Spark changes one, its test says which."""

import msgspec
import pytest
from pyspark.sql import DataFrame, SparkSession

from pondage.plan.incremental.algebra import Node, NotUnderstood
from pondage.plan.incremental.reading import read_plan, shape
from pondage.spark.incremental import catalyst as module
from pondage.spark.incremental.catalyst import Catalyst, marked

pytestmark = pytest.mark.spark


@pytest.fixture
def catalyst(spark: SparkSession) -> Catalyst:
    return Catalyst(spark)


def table(spark: SparkSession, name: str = "t", rows: str = "(1, 2), (1, 3), (null, 4)") -> DataFrame:
    frame = spark.sql(f"select * from values {rows} as t(k, v)")
    marked(frame, name).createOrReplaceTempView(name)
    return frame


def node_of(catalyst: Catalyst, frame: DataFrame) -> Node:
    plan = catalyst.normalised(frame)
    fields = [(field["name"], field["type"]) for field in frame.schema.jsonValue()["fields"]]
    return read_plan(catalyst.text(plan), fields, catalyst.rounding(plan))


def kinds(node: Node) -> list[str]:
    return [each.kind for each in node.walk() if each.kind not in ("SubqueryAlias", "View", "Project")]


def rows(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def test_the_probe_tries_every_call(catalyst: Catalyst) -> None:
    catalyst.probe()


def test_another_spark_is_not_trusted(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TESTED", "9.")
    with pytest.raises(NotUnderstood, match="not the one that this was tried on"):
        Catalyst(spark)


def test_a_session_in_which_casts_have_two_meanings_is_not_trusted(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    with pytest.raises(NotUnderstood, match=r"ansi\.enabled"):
        Catalyst(spark)


def test_a_changed_internal_is_found_by_the_probe(catalyst: Catalyst, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> object:
        raise AttributeError("gone")

    monkeypatch.setattr(catalyst, "matching", gone)
    with pytest.raises(NotUnderstood, match="not as they were"):
        catalyst.probe()


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        ("k in (select k from u)", "LeftSemi"),
        ("not exists (select 1 from u where u.k = t.k)", "LeftAnti"),
        ("v = 1 or k in (select k from u)", "ExistenceJoin"),
        ("v > (select max(u.v) from u where u.k = t.k)", "LeftOuter"),
        ("v > (select max(u.v) from u)", "Inner"),
    ],
)
def test_subqueries_become_joins(spark: SparkSession, catalyst: Catalyst, condition: str, kind: str) -> None:
    table(spark), table(spark, "u")
    node = node_of(catalyst, spark.sql(f"select k from t where {condition}"))
    assert [each.join.value for each in node.walk() if each.join is not None] == [kind]
    assert (node.all_hidden, node.sources) == (frozenset(), {"t", "u"})


def test_a_subquery_that_is_no_join_hides_its_tables(spark: SparkSession, catalyst: Catalyst) -> None:
    table(spark), table(spark, "u")
    node = node_of(catalyst, spark.sql("select k, (select max(v) from u) as most from t"))
    assert (node.all_hidden, [leaf.source for leaf in node.leaves]) == ({"u"}, ["t"])


def test_a_common_table_is_there_as_often_as_it_is_read(spark: SparkSession, catalyst: Catalyst) -> None:
    table(spark)
    node = node_of(catalyst, spark.sql("with c as (select k from t) select a.k from c a join c b on a.k = b.k"))
    assert [leaf.source for leaf in node.leaves] == ["t", "t"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("select rand() as r from t", "not deterministic"),
        ("select uuid() as r from t", "not deterministic"),
        ("select current_date() as d from t", "CurrentDate"),
        ("select map(k, v) as m from t where k is not null", "CreateMap|type"),
        ("select k from t tablesample (50 percent)", "Sample|not deterministic"),
        ("select collate(string(k), 'UTF8_LCASE') as k from t", "Collate|type"),
        ("select k from t, range(3)", ""),
    ],
)
def test_what_no_rule_names_is_said(spark: SparkSession, catalyst: Catalyst, query: str, said: str) -> None:
    table(spark)
    if not said:
        assert "Range" in kinds(node_of(catalyst, spark.sql(query)))
        return
    with pytest.raises(NotUnderstood, match=said):
        node_of(catalyst, spark.sql(query))


def test_a_table_that_is_no_source_is_not_understood(spark: SparkSession, catalyst: Catalyst) -> None:
    table(spark)
    foreign = spark.createDataFrame([(1,)], "k int")
    with pytest.raises(NotUnderstood, match="LogicalRDD"):
        node_of(catalyst, spark.table("t").join(foreign, "k"))


def test_sums_of_floats_are_found(spark: SparkSession, catalyst: Catalyst) -> None:
    table(spark)
    exact = node_of(catalyst, spark.sql("select k, sum(v) as s, avg(v) as a from t group by k"))
    rounded = node_of(catalyst, spark.sql("select k, sum(sqrt(v)) as s from t group by k"))
    assert (exact.rounds, rounded.rounds) == (False, True)


def test_other_rows_take_the_place_of_a_table(spark: SparkSession, catalyst: Catalyst) -> None:
    table(spark)
    plan = catalyst.normalised(spark.sql("select a.k, b.v from t a join t b on a.k = b.k"))
    node = read_plan(catalyst.text(plan), [("k", "integer"), ("v", "integer")])
    path = node.leaves[1].path
    other = spark.sql("select * from values (1, 9) as t(k, v)")
    put = catalyst.relabelled(catalyst.analysed(other), catalyst.at(plan, path))
    assert rows(catalyst.frame(catalyst.replaced(plan, {path: put}))) == [(1, 9), (1, 9)]


def test_rows_of_other_types_take_no_place(spark: SparkSession, catalyst: Catalyst) -> None:
    table(spark)
    plan = catalyst.normalised(spark.table("t"))
    for query, said in (("select '1' as k, 2 as v", "type of k"), ("select 1 as k", "other columns")):
        with pytest.raises(NotUnderstood, match=said):
            catalyst.relabelled(catalyst.analysed(spark.sql(query)), plan)


def test_rows_are_matched_by_keys_with_nulls(spark: SparkSession, catalyst: Catalyst) -> None:
    plan = catalyst.analysed(table(spark))
    keys = catalyst.analysed(spark.sql("select * from values (null), (7) as t(k)"))
    pairs = [(0, keys, 0)]
    assert rows(catalyst.frame(catalyst.matching(plan, pairs))) == [(None, 4)]
    assert rows(catalyst.frame(catalyst.matching(plan, pairs, is_anti=True))) == [(1, 2), (1, 3)]


def test_an_emptied_branch_has_no_rows(spark: SparkSession, catalyst: Catalyst) -> None:
    assert rows(catalyst.frame(catalyst.emptied(catalyst.analysed(table(spark))))) == []


def test_what_an_aggregate_takes_in_and_puts_out(spark: SparkSession, catalyst: Catalyst) -> None:
    table(spark)
    columns = "upper(string(k)) as u, sum(v) filter (where v > 2) as s, 1 + avg(v) as a"
    query = f"select {columns} from t group by upper(string(k))"
    plan = catalyst.normalised(spark.sql(query))
    inputs = catalyst.frame(catalyst.aggregate_inputs(plan, catalyst.at(plan, (0,))))
    assert (inputs.columns, catalyst.functions(plan)) == (["g0", "f0", "i0_0", "f1", "i1_0"], ["Sum", "Average"])
    assert rows(inputs) == [("1", False, 2, True, 2), ("1", True, 3, True, 3), (None, True, 4, True, 4)]
    state = spark.sql("select 'x' as g0, 5L as n, 7L as s0, 2L as c0, 9 as s1, 2L as c1")
    assert rows(catalyst.frame(catalyst.finished(plan, state))) == [("x", 7, 5.5)]


def test_the_shape_of_a_plan_is_that_of_its_query(spark: SparkSession, catalyst: Catalyst) -> None:
    def of(query: str) -> str:
        table(spark)
        return shape(catalyst.text(catalyst.normalised(spark.sql(query))))

    assert of("select k from t where v > 1") == of("select k from t where v > 1")
    assert of("select k from t where v > 1") != of("select k from t where v > 2")
    before = of("select k from t")
    marked(spark.sql("select 5 as k"), "t").createOrReplaceTempView("t")
    assert shape(catalyst.text(catalyst.normalised(spark.table("t").select("k")))) != before


def test_the_json_of_a_plan_is_a_list_of_nodes(spark: SparkSession, catalyst: Catalyst) -> None:
    table(spark)
    nodes = msgspec.json.decode(catalyst.text(catalyst.normalised(spark.table("t"))))
    assert {"class", "num-children"} <= nodes[0].keys()
