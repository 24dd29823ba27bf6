"""`simulate(tree, fixtures)` on Spark: the whole flow in this process, with rows in place of some nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pondage import component
from pondage.errors import PondageError
from pondage.spark.session.driver import SparkDriver
from pondage.testing import simulate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pondage.spark.component.spark_run import SparkRun

pytestmark = pytest.mark.spark

TREE: dict[str, Any] = {
    "version": 1,
    "nodes": {
        "src": {"prog": "source", "params": {"rows": 3}},
        "mine": {"prog": "doubled"},
        "told": {"prog": "union"},
    },
    "edges": [["src.main", "mine.input"], ["mine.panic", "told.input"]],
    "extract": {
        "doubled": {"from": "mine.main", "format": "csv"},
        "why": {"from": "told.main", "format": "ndjson"},
    },
}


@component("doubled", inputs={"input": "Table<{id: bigint}>"}, outputs={"main": "Table<{id: bigint}>"}, exposed=True)
def doubled(input: DataFrame, *, params: object, run: object) -> DataFrame:  # noqa: A002 - the port
    """Double every id."""
    del params, run
    return input.selectExpr("id * 2 AS id")


@pytest.fixture(autouse=True)
def _outside_of_projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_flow_runs_in_this_process_and_rows_may_stand_for_nodes(driver: SparkDriver) -> None:
    found = simulate(TREE, spark=driver, components=[doubled])
    assert (found.state, found.states["told"]) == ("OK", "SKIPPED"), found
    assert found.rows == {"doubled": [{"id": 0}, {"id": 2}, {"id": 4}]}
    given = simulate(TREE, {"src": {"main": [{"id": 21}]}}, spark=driver, components=[doubled])
    assert given.extracts == {"doubled": b"id\n42\n"}
    assert driver.is_alive(), "it is the test's driver, not the simulation's"


def test_a_fixture_that_fails_is_a_panic_which_a_handler_takes_over(driver: SparkDriver) -> None:
    found = simulate(TREE, {"mine": KeyError("lost")}, spark=driver, components=[doubled])
    assert (found.state, found.states) == ("OK", {"src": "OK", "mine": "ERROR", "told": "OK"})
    assert [(one["node"], one["code"], one["message"]) for one in found.rows["why"]] == [("mine", "KeyError", "'lost'")]


def test_fixtures_must_fit_the_tree(driver: SparkDriver) -> None:
    for fixtures, message in (({"nope": {}}, "no node 'nope'"), ({"src": {"rest": []}}, "nobody reads src.rest")):
        with pytest.raises(PondageError, match=message):
            simulate(TREE, fixtures, spark=driver, components=[doubled])


@component("patient", outputs={"main": "Table<{asked: boolean}>"}, params={}, exposed=True)
def patient(*, params: object, run: SparkRun) -> DataFrame:
    """Work until somebody says stop, and close the output with what there is."""
    del params
    return run.spark.createDataFrame([(run.wait_stop(60.0) and run.stopping,)], "asked boolean")


def test_a_row_on_a_stop_edge_reaches_the_program_and_what_it_gives_then_counts(driver: SparkDriver) -> None:
    tree = {
        "version": 1,
        "nodes": {"src": {"prog": "patient"}, "enough": {"prog": "source", "params": {"rows": 1}}},
        "edges": [["enough.main", "src.stop"]],
        "extract": {"asked": {"from": "src.main", "format": "ndjson"}},
    }
    found = simulate(tree, spark=driver, components=[patient])
    assert (found.state, found.rows) == ("OK", {"asked": [{"asked": True}]}), found
