"""Types that only Spark knows: components on empty tables, through the ledger, into the plan of a tree and of a job."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

from pondage.cli.client.desk import Here
from pondage.cli.files.inference import asking
from pondage.cli.files.tree import planned_tree, stored_tree
from pondage.define.job.component import component, definition_of
from pondage.define.job.flow import FlowRefused
from pondage.define.types.port import Port
from pondage.operations import inference
from pondage.spark.component.inference import infer_types
from pondage.spark.session.driver import SparkDriver
from pondage.work.inference import Inferred, Question
from tests.spark.flows.flow_world import FlowWorld, rows, tree

pytestmark = pytest.mark.spark
ORDERS = "Table<{id: bigint not null, price: decimal(7,2), tags: array<string>}>"
RATES = "Table<{kind: string, rate: double}>"
PROGRAMS = '''
from pyspark.sql import functions as F

from pondage import component


@component("priced", inputs={"input": "Table<Any>"}, outputs={"main": "infer"}, exposed=True)
def priced(input, *, params, run):
    """Add what a column is with tax."""
    return input.withColumn("gross", F.col(params["column"]) * 2)


@component("counted", inputs={"input": "Table<Any>"}, outputs={"main": "infer"}, exposed=True)
def counted(input, *, params, run):
    """Count rows by their id."""
    return input.groupBy("id").agg(F.sum("gross").alias("total"))


@component("named", inputs={"input": "Table<{id: bigint, who: string}>"}, outputs={"main": "Table<Any>"}, exposed=True)
def named(input, *, params, run):
    """Take what nobody here gives."""
    return input
'''


def jobs(spark: SparkSession) -> int:
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def asked(spark: SparkSession, function: Callable[..., object], **inputs: object) -> Inferred:
    definition = definition_of(function)
    assert definition is not None
    given = {port: texts if isinstance(texts, tuple) else (str(texts),) for port, texts in inputs.items()}
    question = Question(key="k", component=definition.name, entry=definition.entry, inputs=given)
    (found,) = infer_types(spark, [question], lambda _entry: function)
    assert found.key == "k"
    return found


@component(
    "joined",
    inputs={"left": "Table<Any>", "right": Port("Table<Any>", multi=True), "gate": Port("Any", required=False)},
    outputs={"main": "infer", "rest": "infer"},
)
def joined(left: DataFrame, right: list[DataFrame], gate: object, *, params: Any, run: Any) -> dict[str, DataFrame]:
    assert gate is None
    run.after["n"] = len(right)
    run.globals["seen"] = True
    assert run.globals["seen"]
    both = left.crossJoin(right[0].unionByName(right[1]))
    return {"main": both.withColumn("n", F.lit(1)), "rest": right[0].select("rate")}


def test_every_output_gets_the_type_of_its_plan_and_no_spark_job_runs(spark: SparkSession) -> None:
    before = jobs(spark)
    found = asked(spark, joined, left=ORDERS, right=(RATES, RATES), gate="Any")
    assert found.outputs == {
        "main": "Table<{id: bigint not null, price: decimal(7,2), tags: array<string>, kind: string, rate: double, "
        "n: int not null}>",
        "rest": "Table<{rate: double}>",
    }
    assert (found.problem, found.why) == ("", "")
    assert jobs(spark) == before


def test_a_column_that_is_not_there_is_told_of_the_input_that_lacks_it_with_what_was_meant(spark: SparkSession) -> None:
    @component("joined", inputs={"left": "Table<Any>", "right": "Table<Any>"}, outputs={"main": "infer"})
    def wrong(left: DataFrame, right: DataFrame, *, params: Any, run: Any) -> DataFrame:
        return left.crossJoin(right.select("rat"))

    found = asked(spark, wrong, left=ORDERS, right=RATES)
    assert found.port == "right"
    assert found.problem.startswith("[UNRESOLVED_COLUMN.WITH_SUGGESTION]")
    assert "`rat` cannot be resolved" in found.problem
    assert "`rate`" in found.problem
    assert (found.outputs, found.why) == ({}, "")


def test_inputs_that_do_not_fit_each_other_are_a_problem_of_all_of_them(spark: SparkSession) -> None:
    @component("stacked", inputs={"left": "Table<Any>", "right": "Table<Any>"}, outputs={"main": "infer"})
    def stacked(left: DataFrame, right: DataFrame, *, params: Any, run: Any) -> DataFrame:
        return left.union(right)

    found = asked(spark, stacked, left=ORDERS, right=RATES)
    assert found.problem.startswith("[NUM_COLUMNS_MISMATCH]")
    assert found.port == ""


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (lambda frame, run: frame.first()["id"], "TypeError"),
        (lambda frame, run: frame.where(run.globals.get("day") == "monday"), "it reads the global 'day'"),
        (
            lambda frame, run: frame.where(run.condition(frame, "id > context.least")),
            "context 'least', which only a run",
        ),
        (lambda frame, run: run.secret("PASSWORD"), "there is no store of secrets"),
        (lambda frame, run: run.spark.read.parquet("/nowhere/at/all"), "[PATH_NOT_FOUND]"),
        (lambda frame, run: 3, "is a int, no DataFrame"),
        (lambda frame, run: frame.select(F.expr("interval 1 day").alias("i")), "have no word for"),
    ],
)
def test_a_component_that_cannot_be_asked_says_why_and_is_no_problem(
    spark: SparkSession, body: Callable[..., object], why: str
) -> None:
    @component("hard", inputs={"input": "Table<Any>"}, outputs={"main": "infer"})
    def hard(input: DataFrame, *, params: Any, run: Any) -> object:  # noqa: A002 - the port's name
        return body(input, run)

    found = asked(spark, hard, input=ORDERS)
    assert why in found.why
    assert found.why.startswith("hard cannot be asked: ")
    assert (found.outputs, found.problem) == ({}, "")


class Working(Here):
    """The desk of a world whose worker answers at once what is asked."""

    def __init__(self, world: FlowWorld) -> None:
        super().__init__(world.session)
        self._world = world

    def ask(self, what: Any, *given: Any, **named: Any) -> Any:
        answer = super().ask(what, *given, **named)
        if what is inference.infer:
            self._world.work()
        return answer

    def workers(self) -> AbstractContextManager[None]:
        return nullcontext()


@pytest.fixture
def world(
    driver: SparkDriver, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FlowWorld]:
    made = FlowWorld(tmp_path_factory.mktemp("inference") / "project", driver, PROGRAMS)
    monkeypatch.chdir(made.root)
    yield made
    made.close()


def chain(column: str, *, last: str = "counted") -> dict[str, Any]:
    nodes = {
        "orders": rows(ORDERS, {"id": 1, "price": "2.50"}, {"id": 1, "price": "1.00"}),
        "priced": {"prog": "priced", "params": {"column": column}},
        "last": {"prog": last},
    }
    return tree(nodes, ["orders.out", "priced.input"], ["priced.main", "last.input"], out="last.main as ndjson")


def dispatches(world: FlowWorld) -> int:
    with world.ledger.reading() as tx:
        row = tx.row("SELECT count(*) AS n FROM dispatches WHERE kind = 'infer'")
    assert row is not None
    return int(str(row["n"]))


def test_a_chain_is_resolved_by_a_worker_remembered_and_runs_with_its_types(
    world: FlowWorld, spark: SparkSession
) -> None:
    file = world.root / "tree.json"
    file.write_text(json.dumps(chain("price")))
    assert planned_tree(str(file)).unresolved == ("priced.main", "last.main")
    before = jobs(spark)
    desk = Working(world)
    with asking(desk) as asker:
        planned = planned_tree(str(file), inferring=asker)
    assert planned.unresolved == ()
    assert [one.type for one in planned.edges][1].endswith("tags: array<string>, gross: decimal(9,2)}>")
    assert planned.extract_types == {"out": "Table<{id: bigint not null, total: decimal(19,2)}>"}
    assert dispatches(world) == 2, "one for each round"
    assert jobs(spark) == before
    with asking(desk) as asker:
        stored, archive = stored_tree(world.session.project, str(file), name="tree", inferring=asker)
    assert dispatches(world) == 2, "the ledger knew it all"
    assert stored.flow is not None
    assert stored.flow.types == planned.extract_types
    view = world.started(stored, archive)
    assert view.flow.run.state == "OK", view.panics
    assert json.loads(world.extracted(view.flow.run.id, "out")) == {"id": 1, "total": "7.00"}


def test_a_tree_is_refused_at_the_edge_that_brings_the_wrong_columns(world: FlowWorld) -> None:
    file = world.root / "tree.json"
    file.write_text(json.dumps(chain("pirce")))
    with asking(Working(world)) as asker, pytest.raises(FlowRefused) as caught:
        planned_tree(str(file), inferring=asker)
    (problem,) = caught.value.problems
    assert (problem.code, problem.path) == ("TYPE_MISMATCH", "/edges/0")
    assert problem.message.startswith(f"orders.out -> priced.input: got {ORDERS}: [UNRESOLVED_COLUMN.WITH_SUGGESTION]")
    assert "`price`" in problem.message
    file.write_text(json.dumps(chain("price", last="named")))
    with asking(Working(world)) as asker, pytest.raises(FlowRefused) as caught:
        planned_tree(str(file), inferring=asker)
    (problem,) = caught.value.problems
    assert (problem.code, problem.path) == ("TYPE_MISMATCH", "/edges/1")
