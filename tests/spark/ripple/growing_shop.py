"""A shop whose tables grow: a real ledger, real Spark, real files, and a worker that a test holds in its hand."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import duckdb
from pyspark.sql import SparkSession

from pondage.define.project.durability import Durability
from pondage.define.values.names import PondKey
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.log import AttemptLog
from pondage.engine.execute.spark_executor import SparkExecutor
from pondage.engine.process.config import EngineConfig, WorkerConfig
from pondage.engine.services.outbox import Outbox
from pondage.errors import PondageError
from pondage.kernel.demand.events import Event, Force, Pulse
from pondage.ledger.act import verbs
from pondage.ledger.commit import guarded, polling, work
from pondage.ledger.data import snapshots
from pondage.ledger.database.driver import number
from pondage.ledger.kinds.compact import Compacted
from pondage.ledger.kinds.failed import Failed
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import RippleTask, Same, Written
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.upkeep import reap
from pondage.spark.files.read import read_snapshot
from pondage.work.failure import Failure
from pondage.work.snapshot import SnapshotContent
from tests.engine.projects import deployed_into, write_project

ORDERS = """
from pondage import Pond, pond
LANDING = {landing!r}
COLUMNS = {columns!r}

@pond(mode={mode!r}, keys={keys!r})
def orders(spark, run):
    rows = spark.read.schema(COLUMNS).json(LANDING)
    return rows if {mode!r} == "merge" else rows.drop("_deleted")
"""
CHAIN = """
@pond(mode={grown!r}, keys={grown_keys!r}, changes=["orders"])
def clean(run):
    return run.changes("orders")

@pond(mode={grown!r}, keys={grown_keys!r})
def shipped(clean, run):
    assert run.is_full in (True, False)
    return run.changes("clean.clean")
"""
Fate = Literal["finish", "crash", "zombie", "fail"]


class Shop:
    """orders -> clean -> shipped. A test lands rows, asks, and looks."""

    def __init__(self, path: Path, spark: SparkSession) -> None:
        self.spark = spark
        self.path = path
        self.landing = path / "landing.json"
        self.ledger = Ledger.open(
            f"sqlite://{path / 'ledger.db'}",
            durability=Durability(probe_s=0.0, keep_runs=2, retention_days=0.0, crash_budget=100, crash_delay_s=0.0),
        )
        self.ran: list[str] = []

    def deploy(self, mode: str, *, grown: str = "append", columns: str = "id long, amount double, _deleted boolean"):
        keys = ["id"]
        text = (ORDERS + CHAIN).format(
            landing=str(self.landing),
            columns=columns,
            mode=mode,
            keys=keys if mode == "merge" else [],
            grown=grown,
            grown_keys=keys if grown == "merge" else [],
        )
        self.deploy_text(text)

    def deploy_text(self, text: str) -> None:
        """Deploy Ponds written in Python."""
        sys.modules.pop("ponds", None)
        self.code = deployed_into(self.ledger, write_project(self.path / "project", text))
        self.register()
        engine = EngineConfig(
            project="tests", root=str(self.path), ledger="", warehouse=str(self.path / "warehouse"),
            state_directory=str(self.path / "state"),
        )  # fmt: skip
        self.executor = SparkExecutor(WorkerConfig(engine=engine, public_id="p", code=self.code, parent=0), self.ledger)

    def register(self) -> None:
        with self.ledger.transaction() as tx:
            self.process = processes.register(
                tx, public_id=self.ledger.ids.new("p"), machine="m", pid=1, pid_started=1, role="worker", code=self.code
            )

    def land(self, *rows: dict[str, object]) -> None:
        """What the Inlet reads next."""
        self.landing.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def ask(
        self, name: str = "shipped", event: Event | None = None, fate: Callable[[], Fate] = lambda: "finish"
    ) -> list[str]:
        """Ask for a Pond, do all the work, and answer which Ripples computed; `fate` says how each attempt ends."""
        self.ran = []
        verbs.send(self.ledger, "main", event or Pulse(pond=PondKey(f"{name}@1")))
        while (held := self.claim()) is not None:
            match fate():
                case "crash":
                    self.die()
                case "zombie":
                    self.die()
                    assert not self.carry_out(held), "a worker that was taken for dead has published"
                case "fail" if isinstance(held.task, RippleTask):
                    lost = Failure(code="RIPPLE_FAILED", message="the database hung up")
                    assert guarded.commit(self.ledger, held, Failed(lost), process=self.process)
                    verbs.send(self.ledger, "main", Force(pond=PondKey(f"{held.claim.node}@1")))
                case _:
                    self.carry_out(held)
        return self.ran

    def die(self) -> None:
        """The worker is taken for dead, whatever it still does; another one takes its place."""
        with self.ledger.reading() as tx:
            (row,) = [each for each in processes.alive(tx) if each.id == self.process]
        reap.reap_process(self.ledger, row, reason="it was silent")
        self.register()

    def claim(self) -> Work | None:
        return work.claim_work(
            self.ledger,
            process=self.process,
            queues=polling.queues_for(self.ledger, code=self.code),
            token=self.ledger.ids.new("t"),
            is_alone=True,
        )

    def carry_out(self, held: Work) -> bool:
        log = AttemptLog(self.path / "attempt.log")
        try:
            result = self.executor.execute(Attempt(held, log, clock=lambda: 0.0, on_phase=lambda _: None))
        except PondageError as error:
            failure = Failure(code=error.code, message=error.message)
            return guarded.commit(self.ledger, held, Failed(failure), process=self.process)
        finally:
            log.close()
        self.ran.append(held.claim.node if not isinstance(result, Compacted) else "compact")
        match result:
            case Written(content=content):
                return guarded.commit(self.ledger, held, Written(content), process=self.process)
            case Compacted(content=content):
                return guarded.commit(self.ledger, held, Compacted(content), process=self.process)
            case Same():
                return guarded.commit(self.ledger, held, Same(), process=self.process)
        raise AssertionError(result)

    def jobs(self) -> int:
        """How many jobs this Spark has ever started."""
        return int(self.spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())

    def table(self, name: str) -> SnapshotContent:
        """What a Pond shows now."""
        with self.ledger.reading() as tx:
            row = tx.row("SELECT max(id) AS id FROM ponds WHERE name = :name AND removed_at IS NULL", name=name)
            assert row is not None
            run = snapshots.current_run(tx, number(row, "id"))
            assert run is not None
            snapshot = snapshots.outputs(tx, run)[name].snapshot
            return snapshots.load(tx, [snapshot])[snapshot].content

    def rows(self, name: str) -> list[tuple[object, ...]]:
        """The rows of a Pond as Spark reads them, in order."""
        return sorted(tuple(row) for row in read_snapshot(self.spark, self.table(name)).collect())

    def rows_outside(self, name: str, columns: str = "id, amount") -> list[tuple[object, ...]]:
        """The rows of a Pond as DuckDB reads them by the table's stable name."""
        Outbox(self.ledger, str(self.path / "warehouse")).run_once()
        current = json.loads((self.stable(name) / "CURRENT.json").read_text())
        found = duckdb.sql(
            f"select {columns} from read_parquet($files, union_by_name=true)",
            params={"files": current["files"]},
        )
        return sorted(found.fetchall())

    def stable(self, name: str) -> Path:
        return self.path / "warehouse" / "tables" / "main" / name / "v1" / name

    def runs(self, name: str) -> list[int]:
        """The completed Runs of a Pond, oldest first."""
        with self.ledger.reading() as tx:
            rows = tx.rows(
                """SELECT r.id AS id FROM runs r JOIN ponds p ON p.id = r.pond
                   WHERE p.name = :name AND r.state = 'completed' ORDER BY r.id""",
                name=name,
            )
        return [number(row, "id") for row in rows]

    def number(self, name: str) -> int:
        """The number of the newest batch of a Pond; 1 is a table that began anew."""
        with self.ledger.reading() as tx:
            row = tx.row(
                """SELECT b.number AS number FROM batches b JOIN snapshots s ON s.id = b.snapshot
                   JOIN datasets d ON d.id = s.dataset WHERE d.ripple = :name ORDER BY s.id DESC LIMIT 1""",
                name=name,
            )
        assert row is not None
        return number(row, "number")

    def error(self, name: str) -> str:
        with self.ledger.reading() as tx:
            row = tx.row(
                """SELECT r.error AS error FROM runs r JOIN ponds p ON p.id = r.pond WHERE p.name = :name
                   ORDER BY r.id DESC LIMIT 1""",
                name=name,
            )
        return "" if row is None else str(row["error"])
