"""Python that is stopped while its JVM goes on (row 3): Spark commits files late, and nobody ever sees them."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest

from pondage.engine.services.vacuum import vacuum
from pondage.kernel.demand.events import Pulse
from pondage.ledger.act import verbs
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.project.project import Project
from tests.chaos.fault import Dev, opened, parent_of, wait_ended, wait_for
from tests.chaos.invariants import violations
from tests.engine.projects import deploy_project, write_project
from tests.patience import PATIENCE_S
from tests.services.postgres import PostgresServer, wait_until

pytestmark = pytest.mark.spark

SETTINGS = """
[project]
name = "chaos"
ledger = "{ledger}"
warehouse = "{warehouse}"
[spark]
master = "local[2]"
memory = "1g"
[durability]
heartbeat_s = 1
reap_after_s = 8
child_margin_s = 2
poll_s = 0.2
drain_s = 10
"""

# Only the JVM may be needed by the job: a task in Spark's Python ends with a message to the Python that is stopped.
PONDS = """
from pondage import pond
from pyspark.sql import DataFrame, SparkSession, functions as F

@pond
def orders(spark: SparkSession) -> DataFrame:
    if spark is None:
        return [0, 1]
    return spark.range(1).select("id", F.expr("reflect('java.lang.Thread', 'sleep', 12000L)").alias("paused"))
"""


class Place:
    """A ledger, a warehouse, and one project for each machine that serves them."""

    def __init__(self, folder: Path, ledger: str) -> None:
        self.folder = folder
        self.warehouse = folder / "warehouse"
        self._settings = SETTINGS.format(ledger=ledger, warehouse=self.warehouse)
        self.first, self.second = (self._machine(name) for name in ("first", "second"))

    def _machine(self, name: str) -> Project:
        return write_project(self.folder / name, PONDS, self._settings)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path, warm_spark: None) -> Iterator[Place]:
    with ExitStack() as stack:
        address = f"sqlite://{tmp_path / 'ledger.db'}"
        if request.param == "postgres":
            address = stack.enter_context(closing(PostgresServer())).url
        made = Place(tmp_path, address)
        deploy_project(made.first)
        yield made


@pytest.fixture
def ledger(place: Place) -> Iterator[Ledger]:
    made = opened(place.first)
    yield made
    made.close()


def outcomes(ledger: Ledger) -> list[object]:
    with ledger.reading() as tx:
        return [row["outcome"] for row in tx.rows("SELECT outcome FROM executions ORDER BY id")]


def is_published(ledger: Ledger) -> bool:
    with ledger.reading() as tx:
        return (
            bool(tx.rows("SELECT 1 FROM runs WHERE state = 'completed'"))
            and not tx.rows("SELECT 1 FROM outbox WHERE done_at IS NULL")
        )  # fmt: skip


def living_pids(ledger: Ledger) -> set[int]:
    with ledger.reading() as tx:
        return {row.pid for row in processes.alive(tx)}


def snapshot_paths(ledger: Ledger) -> list[Path]:
    with ledger.reading() as tx:
        return [Path(str(row["path"])) for row in tx.rows("SELECT path FROM snapshots ORDER BY id")]


def stop(ledger: Ledger, *pids: int) -> None:
    """Stop processes outside of transactions: on SQLite everybody would wait for the one that they hold."""

    def is_stopped() -> bool:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        if not isinstance(ledger.driver, SqliteDriver) or can_write(ledger.driver.path):
            return True
        for pid in reversed(pids):
            os.kill(pid, signal.SIGCONT)
        return False

    wait_until(is_stopped)


def worker_and_jvm(supervisor: int) -> tuple[int, int]:
    (jvm,) = (each for worker in children(supervisor) for each in children(worker))
    return parent_of(jvm), jvm


def children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found += [int(each) for each in (task / "children").read_text().split()]
    return found


def can_write(path: Path) -> bool:
    with closing(sqlite3.connect(path, timeout=0.2, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError:
            return False
    return True


@contextmanager
def served(project: Project, *, is_plain: bool = False) -> Iterator[Dev]:
    dev = Dev(project, is_plain=is_plain)
    try:
        yield dev
    finally:
        if dev.process.poll() is None:
            dev.kill_group()


def test_what_a_jvm_commits_while_its_python_is_stopped_is_never_published(place: Place, ledger: Ledger) -> None:
    verbs.send(ledger, "main", Pulse(pond="orders@1"))
    data = place.warehouse / "data"
    with served(place.first) as zombie, ExitStack() as later:
        wait_until(lambda: any(data.glob("*/*/*/_temporary/0/_temporary")), PATIENCE_S)
        worker, jvm = worker_and_jvm(zombie.process.pid)
        # The JVM only until somebody else has published: nobody knows how long that takes.
        stop(ledger, zombie.process.pid, worker, jvm)
        other = later.enter_context(served(place.second, is_plain=True))
        wait_for(ledger, lambda: is_published(ledger))
        (good,) = snapshot_paths(ledger)
        assert outcomes(ledger) == ["crashed", "ok"]

        os.kill(jvm, signal.SIGCONT)
        wait_until(lambda: any(data.glob("**/_SUCCESS")), PATIENCE_S)
        (late,) = {path.parent for path in data.glob("**/_SUCCESS")} - {good}
        assert list(late.glob("*.parquet")), "Spark has committed the zombie's files"
        assert snapshot_paths(ledger) == [good]

        for pid in (worker, zombie.process.pid):
            os.kill(pid, signal.SIGCONT)
        wait_ended(worker)
        # The machine comes back under a new identity; asked to end before that, it would say that it was lost.
        wait_for(ledger, lambda: zombie.process.pid in living_pids(ledger))
        assert zombie.drain() == 0
        assert other.drain() == 0
    assert outcomes(ledger) == ["crashed", "ok"]
    assert snapshot_paths(ledger) == [good]
    assert violations(ledger, place.warehouse) == []
    # When it came back, the worker may have had the time to throw them away itself.
    for file in [*late.glob("*"), late] if late.exists() else []:
        os.utime(file, (0, 0))
    vacuum(ledger, str(place.warehouse))
    assert not late.exists(), "and they are collected"
