"""kill -9 of everything at each checkpoint of a Run that takes files: each file is in the table, exactly once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from pondage.kernel.demand.events import Pulse
from pondage.ledger.act import verbs
from pondage.ledger.ledger import Ledger
from pondage.ledger.upkeep import retention
from pondage.project.project import Project
from tests.chaos.fault import Dev, opened, wait_for
from tests.chaos.invariants import violations
from tests.engine.projects import deploy_project, write_project
from tests.services.postgres import PostgresServer

pytestmark = pytest.mark.spark

# Each checkpoint is a crash of the same piece of work, so it may have more of them than usual.
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
crash_budget = 20
crash_delay_s = 0
"""
PONDS = '''
import os
from pondage import pond, sources
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

@F.udf(LongType())
def checked(value):
    """A Spark task, in which the test may kill everything."""
    if os.environ.get("PONDAGE_CHAOS_POINT") == "while_spark_runs":
        import checkpoints
        checkpoints.reached()
    return value

@pond(mode="partition", by=["day"])
def trips(spark, run):
    rows = sources.files(spark, run, "landing", format="parquet", schema="id bigint, day string", most=3,
                         replaced="replace", keep=["_file"])
    return rows.withColumn("id", checked("id"))

@pond(mode="partition", by=["day"])
def counted(trips, run):
    return trips.where(run.touched("day")).groupBy("day").count()
'''
POINTS = [
    "before_claim", "after_claim", "before_decision", "after_decision", "while_spark_runs",
    "after_write_before_commit", "after_commit",
]  # fmt: skip


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
    opened_ledger = opened(project)
    yield opened_ledger
    opened_ledger.close()


def land(project: Project, number: int, *rows: tuple[int, str]) -> None:
    """Put a file there, whole, later than those before."""
    folder = project.root / "landing"
    folder.mkdir(exist_ok=True)
    beside = project.root / "unfinished"
    parquet.write_table(pa.table({"id": [row[0] for row in rows], "day": [row[1] for row in rows]}), beside)
    os.utime(beside, (1_700_000_000 + number, 1_700_000_000 + number))
    beside.rename(folder / f"{number}.parquet")


def is_finished(ledger: Ledger) -> bool:
    with ledger.reading() as tx:
        return (
            tx.one("SELECT count(*) FROM runs WHERE state = 'completed'", int) >= 2
            and tx.one("SELECT count(*) FROM runs WHERE ended_at IS NULL", int) == 0
            and tx.one("SELECT count(*) FROM outbox WHERE done_at IS NULL", int) == 0
            and tx.one("SELECT count(*) FROM signals WHERE due_at <= :now", int) == 0
        )


def rows(ledger: Ledger, pond: str) -> list[tuple[object, ...]]:
    with ledger.reading() as tx:
        found = retention.published(tx, tx.one("SELECT id FROM ponds WHERE name = :name", int, name=pond))
    assert found is not None
    (table,) = found.tables
    read = [row for path in table.content.paths for row in parquet.read_table(path).to_pylist()]
    return sorted(tuple(value for name, value in row.items() if name != "_file") for row in read)


def test_kill_9_at_every_checkpoint_of_an_ingestion_takes_each_file_exactly_once(
    project: Project, ledger: Ledger
) -> None:
    land(project, 0, (0, "d0"), (1, "d1"))
    verbs.send(ledger, "main", Pulse(pond="counted@1"))
    for number, point in enumerate(POINTS, start=1):
        dev = Dev(project, point=point)
        dev.wait_reached()
        # It may land after it was decided what the Run reads: the next one takes it, whoever is killed.
        land(project, number, (2 * number, "d0"), (2 * number + 1, f"d{number % 3}"))
        dev.kill_group()
    verbs.send(ledger, "main", Pulse(pond="counted@1"))
    dev = Dev(project)
    wait_for(ledger, lambda: is_finished(ledger) and len(rows(ledger, "trips")) == 2 * len(POINTS) + 2)
    wait_for(ledger, lambda: is_finished(ledger))
    assert dev.drain() == 0
    expected = [(0, "d0"), (1, "d1")]
    for number in range(1, len(POINTS) + 1):
        expected += [(2 * number, "d0"), (2 * number + 1, f"d{number % 3}")]
    assert rows(ledger, "trips") == sorted(expected)
    per_day = {day: sum(each[1] == day for each in expected) for day in ("d0", "d1", "d2")}
    assert rows(ledger, "counted") == sorted(per_day.items())
    assert violations(ledger, Path(project.warehouse)) == []
