"""Flows on the real engine: constants, tees, panics and stops, decided by the ledger and computed by Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from pondage.spark.driver import SparkDriver
from tests.spark.flow_world import FlowWorld, node_states, rows, tree

pytestmark = pytest.mark.spark

PROGRAMS = '''
from pondage.define.component import component
from pondage.define.port import Port


@component("boom", vars={"R": "row"}, inputs={"input": "Table<R>"}, outputs={"main": "Table<R>"}, exposed=True)
def boom(input, *, params, run):
    """Always fail."""
    raise ValueError("it broke")


@component("handle", inputs={"input": Port("Table<Panic>", multi=True)}, outputs={"main": "Table<Panic>"}, exposed=True)
def handle(input, *, params, run):
    """Hand on why something failed."""
    first, *others = input
    for one in others:
        first = first.unionByName(one)
    return first


@component("size", inputs={"input": "Bytes<text/plain>", "factor": "Value<bigint>"},
           outputs={"main": "Value<{size: bigint}>", "twice": "Bytes<text/plain>"}, exposed=True)
def size(input, factor, *, params, run):
    """Say how long some bytes are."""
    return {"main": {"size": len(input) * factor}, "twice": input * 2}


@component("measure", inputs={"size": "Value<{size: bigint}>"}, outputs={"main": "Table<{n: bigint}>"}, exposed=True)
def measure(size, *, params, run):
    """Make a table of a value."""
    return run.spark.createDataFrame([(size["size"],)], "n bigint")
'''
PEOPLE = "Table<{id: bigint not null, name: string, born: date, score: decimal(7,2), tags: array<string>}>"


@pytest.fixture(scope="module")
def world(driver: SparkDriver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlowWorld]:
    made = FlowWorld(tmp_path_factory.mktemp("flows") / "project", driver, PROGRAMS)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _inside(world: FlowWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world.root)


def extracted(
    world: FlowWorld, spark: SparkSession, run: str, node: str, port: str = "main"
) -> list[dict[str, object]]:
    (found,) = (
        output
        for one in world.detail(run).flow.components
        if one.name == node
        for output in one.outputs
        if output.port == port
    )
    return [row.asDict(recursive=True) for row in spark.read.parquet(found.path).collect()]


def test_a_constant_becomes_rows_of_its_type_and_a_second_reader_gets_them_too(
    world: FlowWorld, spark: SparkSession
) -> None:
    person = {"id": 1, "name": "Ada", "born": "1815-12-10", "score": "10.50", "tags": ["x", None]}
    view = world.flow(
        tree(
            {
                "people": rows(PEOPLE, person, {"id": 2}),
                "named": {"prog": "filter", "params": {"where": "id < 2"}},
                "all": {"prog": "select", "params": {"columns": ["id"]}},
            },
            ["people.out", "named.input"],
            ["people.out", "all.input"],
            named="named.main",
            everybody="all.main",
        )
    )
    assert view.flow.run.state == "OK", view
    assert view.flow.run.id.startswith("f")
    (found,) = extracted(world, spark, view.flow.run.id, "named")
    assert (found["name"], str(found["born"]), str(found["score"]), found["tags"]) == (
        "Ada", "1815-12-10", "10.50", ["x", None],
    )  # fmt: skip
    assert sorted(row["id"] for row in extracted(world, spark, view.flow.run.id, "all")) == [1, 2]
    assert [(one.name, one.state) for one in view.extracts] == [("named", "ready"), ("everybody", "ready")]


def test_values_and_bytes_travel_as_python_has_them(world: FlowWorld, spark: SparkSession) -> None:
    view = world.flow(
        tree(
            {
                "text": {"const": {"type": "Bytes<text/plain>", "bytes": "aGVsbG8="}},
                "three": {"const": {"type": "Value<bigint>", "value": 3}},
                "size": {"prog": "size"},
                "measure": {"prog": "measure"},
            },
            ["text.out", "size.input"],
            ["three.out", "size.factor"],
            ["size.main", "measure.size"],
            n="measure.main",
            twice="size.twice as bytes",
        )
    )
    assert view.flow.run.state == "OK", view.panics
    assert extracted(world, spark, view.flow.run.id, "measure") == [{"n": 15}]
    assert extracted(world, spark, view.flow.run.id, "size", "twice") == [{"bytes": b"hellohello"}]


def test_a_panic_that_nobody_handles_ends_the_flow_with_its_code(world: FlowWorld) -> None:
    view = world.flow(
        tree(
            {"a": rows("Table<{id: bigint}>", {"id": 1}), "b": {"prog": "boom"}, "c": {"prog": "boom"}},
            ["a.out", "b.input"],
            ["b.main", "c.input"],
            x="c.main",
        )
    )
    assert (view.flow.run.state, view.flow.run.code) == ("ERROR", "PANIC")
    (panic,) = view.panics
    assert (panic.node, panic.attempt, panic.code, panic.message) == ("b", 1, "ValueError", "ValueError: it broke")
    assert 'raise ValueError("it broke")' in panic.detail
    assert next(one for one in view.flow.components if one.name == "c").cause == "ABORTED(PANIC)"
    assert view.extracts[0].state == "lost"


def test_a_wired_panic_is_handled_and_its_row_says_what_happened(world: FlowWorld, spark: SparkSession) -> None:
    view = world.flow(
        tree(
            {
                "a": rows("Table<{id: bigint}>", {"id": 1}),
                "b": {"prog": "boom"},
                "c": {"prog": "filter", "params": {"where": "id > 0"}},
                "h": {"prog": "handle"},
            },
            ["a.out", "b.input"],
            ["b.main", "c.input"],
            ["b.panic", "h.input"],
            x="c.main",
            why="h.main",
        )
    )
    assert view.flow.run.state == "OK", view
    assert node_states(view) == {"a": "OK", "b": "ERROR", "c": "SKIPPED", "h": "OK"}
    (row,) = extracted(world, spark, view.flow.run.id, "h")
    assert (row["node"], row["attempt"], row["code"], row["message"]) == ("b", 1, "ValueError", "ValueError: it broke")
    assert "Traceback" in str(row["detail"])
    assert row["at"] is not None


def test_a_handler_of_what_went_well_is_skipped(world: FlowWorld) -> None:
    view = world.flow(
        tree(
            {
                "a": rows("Table<{id: bigint}>", {"id": 1}),
                "b": {"prog": "filter", "params": {"where": "id > 0"}},
                "h": {"prog": "handle"},
            },
            ["a.out", "b.input"],
            ["b.panic", "h.input"],
            x="b.main",
            why="h.main",
        )
    )
    assert view.flow.run.state == "OK"
    assert node_states(view)["h"] == "SKIPPED"
