"""When a Run goes on from the last one, and when it computes everything."""

from collections.abc import Mapping

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from pondage.plan.incremental.algebra import Sign
from pondage.spark.incremental.catalyst import Catalyst, marked
from pondage.spark.incremental.maintained import Outcome, Previous, maintain
from pondage.spark.incremental.substituted import Table

pytestmark = pytest.mark.spark


class World:
    """One table, `t(k, v)`, whose rows are given anew for each Run, and one query over it."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.catalyst = Catalyst(spark)
        self.before = "(1, 2)"
        self.previous: Previous | None = None

    def run(
        self, plus: str | None, minus: str | None = None, *, now: str, kinds: Mapping[str, Sign],
        query: str = "select k, sum(v) as s from t group by k",
    ) -> Outcome:  # fmt: skip
        table = Table(
            new=lambda: self.rows(now),
            old=lambda: self.rows(self.before),
            plus=None if plus is None else lambda: self.rows(plus),
            minus=None if minus is None else lambda: self.rows(minus),
        )
        marked(table.new(), "t").createOrReplaceTempView("t")
        outcome = maintain(self.catalyst, self.spark.sql(query), {"t": table}, kinds, self.previous)
        states = [self.written(each) for each in outcome.states]
        result = self.written(outcome.table(states))
        self.shown = sorted(tuple(row) for row in result.collect())
        self.previous = None
        if outcome.remembered is not None:
            reads = [lambda each=each: each for each in states]
            self.previous = Previous(remembered=outcome.remembered, table=lambda: result, states=reads)
        return outcome

    def written(self, frame: DataFrame) -> DataFrame:
        """Answer the rows as somebody reads them who does not know how they were made."""
        return self.spark.createDataFrame(frame.collect(), frame.schema)

    def rows(self, values: str) -> DataFrame:
        return self.spark.sql(f"select * from values {values} as t(k, v)")


@pytest.fixture
def world(spark: SparkSession) -> World:
    return World(spark)


GROWS, CHANGES = {"t": Sign.APPEND}, {"t": Sign.CHANGE}


def test_a_run_goes_on_from_what_the_last_one_kept(world: World) -> None:
    assert world.run(None, now="(1, 2)", kinds=GROWS).reason == "it is the first Run"
    assert world.run("(1, 3)", now="(1, 2), (1, 3)", kinds=GROWS).how == "merge"
    assert world.shown == [(1, 5)]


def test_a_table_that_only_grew_and_then_loses_rows_is_computed_anew_once(world: World) -> None:
    world.run(None, now="(1, 2), (2, 2)", kinds=GROWS)
    world.before = "(1, 2), (2, 2)"
    lost = world.run(None, "(2, 2)", now="(1, 2)", kinds=GROWS)
    assert (lost.how, lost.reason, world.shown) == ("full", "t changed in a way that it was not thought to", [(1, 2)])
    world.before = "(1, 2)"
    assert world.run("(1, 1)", "(1, 2)", now="(1, 1)", kinds=GROWS).how == "merge"
    assert world.shown == [(1, 1)]


def test_another_query_is_computed_anew(world: World) -> None:
    world.run(None, now="(1, 2)", kinds=CHANGES)
    other = world.run("(1, 3)", now="(1, 2), (1, 3)", kinds=CHANGES, query="select k, count(v) as s from t group by k")
    assert (other.how, other.reason) == ("full", "the query or the columns of its tables changed")
    assert world.shown == [(1, 2)]


def test_other_rules_begin_anew(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.run(None, now="(1, 2)", kinds=CHANGES)
    monkeypatch.setattr("pondage.spark.incremental.maintained.RULES", 0)
    assert world.run("(1, 3)", now="(1, 2), (1, 3)", kinds=CHANGES).how == "full"
    assert world.shown == [(1, 5)]


def test_a_spark_that_refuses_a_call_computes_everything(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> object:
        raise Py4JError("gone")

    monkeypatch.setattr(world.catalyst, "rounding", refused)
    outcome = world.run(None, now="(1, 2)", kinds=CHANGES)
    assert (outcome.how, outcome.reason) == ("full", "Spark refused a part: Py4JError")
    assert (outcome.remembered, world.shown) == (None, [(1, 2)])
