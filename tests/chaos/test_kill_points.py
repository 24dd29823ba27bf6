"""Killing everything in the middle of a real pipeline: nothing is lost and nothing is published twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pondage.kernel.demand.events import Pulse
from pondage.ledger.act import verbs
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.project.project import Project
from tests.chaos.fault import Dev, opened, parent_of, wait_ended, wait_for
from tests.chaos.invariants import violations
from tests.engine.projects import deploy_project, write_project

pytestmark = pytest.mark.spark

# Silence is judged after ten minutes here: whoever goes on sooner has been found dead by its pid.
SETTINGS = """
[project]
name = "chaos"
[spark]
master = "local[2]"
memory = "1g"
[durability]
heartbeat_s = 5
reap_after_s = 600
poll_s = 0.2
drain_s = 10
"""

PONDS = '''
import os
from pondage import Pond, pond, rows
from pyspark.sql import DataFrame, SparkSession, functions as F
from pyspark.sql.types import LongType

@pond
def orders(spark: SparkSession) -> DataFrame:
    return spark.range(20, numPartitions=2).select(F.col("id"), (F.col("id") % 3).alias("shop"))

@F.udf(LongType())
def checked(value):
    """A Spark task, in which the test may kill everything."""
    if os.environ.get("PONDAGE_CHAOS_POINT") == "while_spark_runs":
        import checkpoints
        checkpoints.reached()
    return value

sales = Pond("sales")
src = sales.source("orders")

@sales.ripple(reads={"orders": src["orders"]}, expect=[rows(min=20, max=20)])
def clean(orders: DataFrame) -> DataFrame:
    return orders.withColumn("id", checked("id"))

@sales.ripple
def total(clean: DataFrame) -> DataFrame:
    return clean.groupBy("shop").agg(F.count("*").alias("orders"))

@pond(reads={"sales": "sales.total"})
def reports(sales: DataFrame) -> DataFrame:
    return sales.agg(F.sum("orders").alias("orders"))
'''


@pytest.fixture
def project(tmp_path: Path, warm_spark: None) -> Project:
    made = write_project(tmp_path / "project", PONDS, SETTINGS)
    deploy_project(made)
    return made


@pytest.fixture
def ledger(project: Project) -> Iterator[Ledger]:
    opened_ledger = opened(project)
    yield opened_ledger
    opened_ledger.close()


def counted(ledger: Ledger, statement: str) -> int:
    with ledger.reading() as tx:
        return len(tx.rows(statement))


def is_finished(ledger: Ledger) -> bool:
    return (
        counted(ledger, "SELECT 1 FROM runs WHERE state = 'completed'") >= 3
        and counted(ledger, "SELECT 1 FROM runs WHERE ended_at IS NULL") == 0
        and counted(ledger, "SELECT 1 FROM outbox WHERE done_at IS NULL") == 0
    )


def crashes(ledger: Ledger) -> int:
    return counted(ledger, "SELECT 1 FROM executions WHERE outcome = 'crashed'")


def finish(project: Project, ledger: Ledger) -> None:
    """Start `pondage dev` again, wait until everything is done, and look at everything."""
    dev = Dev(project)
    wait_for(ledger, lambda: is_finished(ledger))
    assert dev.drain() == 0
    assert violations(ledger, Path(project.warehouse)) == []
    with ledger.reading() as tx:
        assert processes.alive(tx) == []


@pytest.mark.parametrize(
    ("points", "crashed"),
    [
        (["before_claim", "after_claim"], {1}),  # one after the other: Spark has done nothing yet
        (["while_spark_runs"], {1}),
        (["after_write_before_commit"], {1}),
        (["after_commit"], {0, 1}),  # another slot may have claimed what comes next
    ],
)
def test_kill_9_of_the_whole_group_loses_nothing_and_publishes_nothing_twice(
    project: Project, ledger: Ledger, points: list[str], crashed: set[int]
) -> None:
    verbs.send(ledger, "main", Pulse(pond="reports@1"))
    for point in points:
        dev = Dev(project, point=point)
        dev.wait_reached()
        dev.kill_group()
        assert violations(ledger, Path(project.warehouse)), "something was under way"
    finish(project, ledger)
    assert crashes(ledger) in crashed


def test_kill_9_of_a_worker_is_noticed_by_its_supervisor(project: Project, ledger: Ledger) -> None:
    verbs.send(ledger, "main", Pulse(pond="reports@1"))
    dev = Dev(project, point="in_attempt")
    os.kill(dev.wait_reached(), signal.SIGKILL)
    wait_for(ledger, lambda: is_finished(ledger))
    assert dev.drain() == 0
    assert violations(ledger, Path(project.warehouse)) == []
    assert crashes(ledger) == 1


def test_kill_9_of_the_jvm_costs_one_worker_and_nothing_else(project: Project, ledger: Ledger) -> None:
    verbs.send(ledger, "main", Pulse(pond="reports@1"))
    dev = Dev(project, point="while_spark_runs")
    # A Python worker of Spark is the child of a daemon, which is the child of the JVM.
    os.kill(parent_of(parent_of(dev.wait_reached())), signal.SIGKILL)
    wait_for(ledger, lambda: is_finished(ledger))
    assert dev.drain() == 0
    assert violations(ledger, Path(project.warehouse)) == []
    assert crashes(ledger) == 1


def test_workers_end_with_their_supervisor_and_give_their_work_back(project: Project, ledger: Ledger) -> None:
    verbs.send(ledger, "main", Pulse(pond="reports@1"))
    dev = Dev(project, point="in_attempt")
    worker = dev.wait_reached()
    dev.kill()
    wait_ended(worker)
    with ledger.reading() as tx:
        outcomes = [row["outcome"] for row in tx.rows("SELECT outcome FROM executions ORDER BY id")]
    assert outcomes == ["released", None], "it counts against nothing and is claimable again"
