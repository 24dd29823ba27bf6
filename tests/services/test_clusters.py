"""Real clusters: the retail demo on a standalone cluster of two workers, and what dies there in the middle of a job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pondage.kernel.demand.events import Pulse
from pondage.ledger.act import verbs
from pondage.ledger.ledger import Ledger
from tests.chaos.fault import opened, wait_for
from tests.chaos.invariants import violations
from tests.engine.projects import deploy_project, write_project
from tests.services.clusters import StandaloneCluster, in_a_process, kill_executor_of
from tests.services.retail import is_published, look_around, retail_project, running, with_gate_on_executors, wrong_rows

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def cluster() -> Iterator[StandaloneCluster]:
    started = StandaloneCluster()
    yield started
    started.close()


def outcomes(ledger: Ledger) -> set[object]:
    with ledger.reading() as tx:
        return {row["outcome"] for row in tx.rows("SELECT outcome FROM executions")}


def test_an_executor_killed_in_the_middle_of_a_job_costs_neither_rows_nor_an_attempt(
    cluster: StandaloneCluster, tmp_path: Path
) -> None:
    root = tmp_path / "retail"
    project = retail_project(root, cluster.settings + with_gate_on_executors(root), has_gate=True)
    with closing(opened(project)) as ledger, running(project, point="in_a_task") as dev:
        verbs.send(ledger, "main", Pulse(pond="reports@1"))
        kill_executor_of(dev.wait_reached())
        wait_for(ledger, lambda: is_published(ledger))
        assert dev.drain() == 0
        assert violations(ledger, Path(project.warehouse)) == []
        assert outcomes(ledger) == {"ok"}, "Spark repeats the lost task itself"
        assert wrong_rows(project) == []


def test_the_doctor_looks_around_on_the_executors(cluster: StandaloneCluster, tmp_path: Path) -> None:
    in_a_process(look_around, tmp_path / "project", cluster.settings)


GREEDY = """
import time
from pathlib import Path
from pondage import pond
from pyspark.sql import DataFrame, SparkSession, functions as F

@pond
def greedy(spark: SparkSession) -> DataFrame:
    return spark.range(1).select(F.length(F.repeat(F.col("id").cast("string"), 2_000_000_000)).alias("length"))

@pond
def neighbour(spark: SparkSession) -> DataFrame:
    before = spark.range(10).count()
    while not Path({mark!r}).exists():
        time.sleep(0.05)
    return spark.range(before)
"""
ISOLATED = """
[project]
name = "isolated"
[worker]
workers = 1
slots = 2
[spark]
isolated = true
cores = 1
memory = "1g"
[spark.conf]
"spark.task.maxFailures" = "2"
[durability]
poll_s = 0.2
drain_s = 10
"""


def test_a_task_that_runs_out_of_memory_ends_its_own_attempt_and_neither_driver_nor_neighbour(tmp_path: Path) -> None:
    mark = tmp_path / "greedy-has-failed"
    project = write_project(tmp_path / "project", GREEDY.format(mark=str(mark)), ISOLATED)
    deploy_project(project)
    with closing(opened(project)) as ledger, running(project) as dev:
        for pond in ("neighbour@1", "greedy@1"):
            verbs.send(ledger, "main", Pulse(pond=pond))
        wait_for(ledger, lambda: "failed" in ends(ledger, "greedy"))
        mark.touch()
        wait_for(ledger, lambda: "ok" in ends(ledger, "neighbour"))
        assert dev.drain() == 0
        assert ends(ledger, "neighbour") == ["ok"], "it was not disturbed"
        assert set(ends(ledger, "greedy")) == {"failed"}, "an attempt whose driver dies is crashed"
        with ledger.reading() as tx:
            assert len(tx.rows("SELECT DISTINCT process FROM executions WHERE process IS NOT NULL")) == 1
        logs = [each.read_text() for each in (project.root / ".pondage" / "spark" / "logs").iterdir()]
        assert any("Lost executor 0" in log for log in logs), "the executor died"


def ends(ledger: Ledger, node: str) -> list[object]:
    """Answer how the ended executions of a Ripple ended."""
    with ledger.reading() as tx:
        rows = tx.rows(
            """SELECT e.outcome AS outcome FROM executions e JOIN dispatches d ON d.id = e.dispatch
               WHERE d.node = :node AND e.completed_at IS NOT NULL ORDER BY e.id""",
            node=node,
        )
    return [row["outcome"] for row in rows]
