"""A JVM that is suspended while Python lives (row 12): the progress lease ends the attempt, the worker is replaced."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec
import pytest

from pondage.engine.process.config import config_of
from pondage.kernel.demand.events import Clear, Pulse
from pondage.ledger.act import verbs
from pondage.ledger.ledger import Ledger
from pondage.project.project import Project
from tests.chaos.fault import Dev, parent_of, wait_for
from tests.engine.projects import deploy_project, write_project
from tests.services.postgres import PostgresServer

pytestmark = pytest.mark.spark

SETTINGS = """
[project]
name = "chaos"
{ledger}
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
from pondage import pond
from pyspark.sql import DataFrame, SparkSession, functions as F
from pyspark.sql.types import LongType

@F.udf(LongType())
def checked(value):
    """A Spark task, in which the test may suspend the JVM."""
    if os.environ.get("PONDAGE_CHAOS_POINT") == "while_spark_runs":
        import checkpoints
        checkpoints.reached()
    return value

@pond(progress_lease="10m")
def orders(spark: SparkSession) -> DataFrame:
    return spark.range(20, numPartitions=2).withColumn("id", checked("id"))
'''
SOON_US = 5_000_000


@pytest.fixture(params=["sqlite", "postgres"])
def project(request: pytest.FixtureRequest, tmp_path: Path, warm_spark: None) -> Iterator[Project]:
    with ExitStack() as stack:
        address = ""
        if request.param == "postgres":
            server = stack.enter_context(closing(PostgresServer()))
            address = f'ledger = "{server.url}"'
        made = write_project(tmp_path / "project", PONDS, SETTINGS.format(ledger=address))
        deploy_project(made)
        yield made


@pytest.fixture
def ledger(project: Project) -> Iterator[Ledger]:
    opened = config_of(project).open_ledger()
    yield opened
    opened.close()


def executions(ledger: Ledger) -> list[tuple[object, str | None]]:
    with ledger.reading() as tx:
        rows = tx.rows("SELECT outcome, error FROM executions ORDER BY id")
    return [
        (row["outcome"], None if row["error"] is None else msgspec.json.decode(str(row["error"]))["code"])
        for row in rows
    ]


def cut_lease(ledger: Ledger, cuts: list[int]) -> None:
    """Let a lease that has long to go end in a moment, so that no test waits for it and no slow machine outlives it."""
    with ledger.transaction() as tx:
        soon = tx.now + SOON_US
        if tx.change(
            """UPDATE executions SET healthy_until = :soon
               WHERE completed_at IS NULL AND lease = 'NO_PROGRESS' AND healthy_until > :soon""",
            soon=soon,
        ):
            cuts.append(soon)
    # What was asked before the JVM was suspended may still be answered.
    assert len(cuts) <= 3, "it is extended though nothing goes on"


def is_given_up(ledger: Ledger, cuts: list[int]) -> bool:
    cut_lease(ledger, cuts)
    return executions(ledger) == [("failed", "NO_PROGRESS")]


def test_a_suspended_jvm_is_ended_by_the_lease_and_its_late_write_is_seen_by_nobody(
    project: Project, ledger: Ledger
) -> None:
    verbs.send(ledger, "main", Pulse(pond="orders@1"))
    dev = Dev(project, point="while_spark_runs")
    # A Python worker of Spark is the child of a daemon, which is the child of the JVM.
    jvm = parent_of(parent_of(dev.wait_reached()))
    os.kill(jvm, signal.SIGSTOP)
    cuts: list[int] = []
    try:
        wait_for(ledger, lambda: is_given_up(ledger, cuts))
    finally:
        os.kill(jvm, signal.SIGCONT)
    verbs.send(ledger, "main", Clear(pond="orders@1"))
    wait_for(ledger, lambda: executions(ledger)[1:] == [("ok", None)])
    assert dev.drain() == 0
    with ledger.reading() as tx:
        assert [row["execution"] for row in tx.rows("SELECT execution FROM snapshots")] == [2]
