"""A Ripple whose body is a job, on Spark: its inputs are pinned tables, its output is the Ripple's table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from pondage.spark.files.read import read_snapshot
from tests.spark.pipeline import Pipeline

pytestmark = pytest.mark.spark

PONDS = """
from pondage import Pond, component, pond, rows

@component("doubled", inputs={"input": "Table<Any>"}, outputs={"main": "Table<Any>"})
def doubled(input, *, params, run):
    return input.selectExpr("id", "id * 2 AS double")

@pond
def orders(spark):
    return spark.range(1, 6)

reports = Pond("reports")
reports.source("orders")
reports.job("enrich", "jobs/enrich.yaml", expect=rows(min=1), parameters={"least": 4})

@reports.ripple
def total(enrich):
    return enrich.groupBy().sum("double")
"""
JOB = """
job: {name: enrich}
inputs: {orders: big.input}
outputs: {main: twice.main}
components:
  - {name: big, type: filter, params: {where: "id >= LEAST"}}
  - {name: twice, type: doubled}
connections:
  data: [big.main -> twice.input]
"""


def job(least: int) -> str:
    return JOB.replace("LEAST", str(least))


def bodied(tmp_path: Path, deployed: Callable[[str], Pipeline]) -> Pipeline:
    """A project whose Ripple names a job; the file is there before the Ponds are read."""
    (tmp_path / "project0" / "jobs").mkdir(parents=True)
    (tmp_path / "project0" / "jobs" / "enrich.yaml").write_text(job(4))
    return deployed(PONDS)


def shown(pipeline: Pipeline, spark: SparkSession) -> dict[str, list[tuple[object, ...]]]:
    return {
        table.ripple: sorted(tuple(row) for row in read_snapshot(spark, table.content).collect())
        for table in pipeline.published("reports").tables
    }


def test_the_job_reads_the_pinned_table_and_what_it_writes_is_the_ripples_table_if_it_keeps_its_rules(
    tmp_path: Path, deployed: Callable[[str], Pipeline], spark: SparkSession
) -> None:
    pipeline = bodied(tmp_path, deployed)
    pipeline.run("reports")
    assert pipeline.failures == []
    assert shown(pipeline, spark) == {"enrich": [(4, 8), (5, 10)], "total": [(18,)]}
    (table,) = [one for one in pipeline.published("reports").tables if one.ripple == "enrich"]
    # Under the Ripple's dataset, as any snapshot: nothing is copied, and the run of the job does not own it.
    assert Path(table.content.path).parts[-4] == "data"
    assert [result.passed for result in table.content.expectations] == [True]
    with pipeline.ledger.reading() as tx:
        (run,) = tx.rows("SELECT context, state FROM job_runs")
        assert run["state"] == "OK"
        assert msgspec.json.decode(str(run["context"]))["least"] == 4
        assert tx.rows("SELECT path FROM run_tables WHERE path = :path", path=table.content.path) == []

    # A rule of the Ripple that is broken is the failure of the component, of the job and of the Run.
    before = pipeline.published("reports").run
    (pipeline.path / "jobs" / "enrich.yaml").write_text(job(9))
    sys.modules.pop("ponds", None)
    pipeline.deploy(PONDS)
    pipeline.run("reports")
    assert pipeline.published("reports").run == before
    with pipeline.ledger.reading() as tx:
        row = tx.row("SELECT error FROM runs WHERE state = 'failed' ORDER BY id DESC LIMIT 1")
    assert row is not None
    failure = msgspec.json.decode(str(row["error"]))
    assert failure["place"] == "jobs/enrich.yaml", failure
    assert "EXPECTATION" in failure["code"] or "FUSED_ACTION" in failure["code"]
    assert "rows" in failure["message"]


def test_a_mistake_in_the_job_is_a_mistake_of_the_project(tmp_path: Path, deployed: Callable[[str], Pipeline]) -> None:
    pipeline = bodied(tmp_path, deployed)
    (pipeline.path / "jobs" / "enrich.yaml").write_text(job(1).replace("outputs: {main: twice.main}", ""))
    with pytest.raises(Exception, match="has no output 'main'"):
        pipeline.deploy(PONDS)
    (pipeline.path / "jobs" / "enrich.yaml").write_text(job(1).replace("type: filter", "type: filtre"))
    with pytest.raises(Exception, match="component type 'filtre' is not in the registry"):
        pipeline.deploy(PONDS)
