"""A Wave over quiet Inlets costs no Spark job after the first round. A real ledger, a real worker's executor."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pondage.define.project.durability import Durability
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.log import AttemptLog
from pondage.engine.execute.spark_executor import SparkExecutor
from pondage.engine.process.config import EngineConfig, WorkerConfig
from pondage.kernel.demand.events import Pulse, Wave
from pondage.kernel.demand.shape import PondKey
from pondage.ledger.act import verbs
from pondage.ledger.commit import guarded, polling, work
from pondage.ledger.kinds.ripple import Same, Written
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.spark.session.driver import SparkDriver
from pondage.views.ponds.lineage import read_lineage
from tests.engine.projects import deployed_into, write_project

PONDS = """
from pathlib import Path
from pondage import pond
LANDING = Path({landing!r})

@pond
def orders(spark):
    return spark.read.schema("n long").json(str(LANDING))

@orders.probe
def landed():
    return sorted([file.name, file.stat().st_size] for file in LANDING.iterdir())

@pond
def rates(spark, run):
    if run.previous_freshness is not None:
        run.unchanged()
    return spark.range(3)

@pond
def sales(orders, rates):
    return orders.join(rates, orders.n == rates.id).groupBy("n").count()

@pond
def reports(sales):
    return sales.where("count > 0")
"""


class Quiet:
    """The worker's part, one attempt after the other, on the Spark of all tests."""

    def __init__(self, path: Path, spark: SparkSession) -> None:
        self.spark = spark
        self.path = path
        self.landing = path / "landing"
        self.landing.mkdir()
        (self.landing / "a.json").write_text('{"n": 1}\n')
        # Without the second between two looks at a quiet Inlet: a test does not wait.
        self.ledger = Ledger.open(f"sqlite://{path / 'ledger.db'}", durability=Durability(probe_s=0.0))
        self.code = deployed_into(self.ledger, write_project(path / "project", PONDS.format(landing=str(self.landing))))
        with self.ledger.transaction() as tx:
            self.process = processes.register(
                tx, public_id="p1", machine="m", pid=1, pid_started=1, role="worker", code=self.code
            )
        engine = EngineConfig(
            project="tests",
            root=str(path),
            ledger="",
            warehouse=str(path / "warehouse"),
            state_directory=str(path / "state"),
        )
        self.executor = SparkExecutor(
            WorkerConfig(engine=engine, public_id="p1", code=self.code, parent=0), self.ledger
        )

    def jobs(self) -> int:
        """Answer how many jobs this Spark has ever started."""
        return int(self.spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())

    def round(self, attempts: int) -> list[str]:
        """Carry out so many attempts and answer what was computed."""
        written: list[str] = []
        for _ in range(attempts):
            held = work.claim_work(
                self.ledger,
                process=self.process,
                queues=polling.queues_for(self.ledger, code=self.code),
                token=self.ledger.ids.new("t"),
                is_alone=True,
            )
            assert held is not None, "a Wave never ends"
            log = AttemptLog(self.path / "attempt.log")
            result = self.executor.execute(Attempt(held, log, clock=lambda: 0.0, on_phase=lambda _: None))
            log.close()
            match result:
                case Written(content=content):
                    written.append(held.claim.node)
                    assert guarded.commit(self.ledger, held, Written(content), process=self.process)
                case Same():
                    assert guarded.commit(self.ledger, held, Same(), process=self.process)
        return written

    def runs(self, pond: str) -> int:
        with self.ledger.reading() as tx:
            row = tx.row(
                """SELECT count(*) AS n FROM runs r JOIN ponds p ON p.id = r.pond
                   WHERE p.name = :name AND r.state = 'completed'""",
                name=pond,
            )
        assert row is not None
        return int(str(row["n"]))


@pytest.fixture
def quiet(tmp_path: Path, driver: SparkDriver, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Quiet]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "ponds", raising=False)
    monkeypatch.setattr(SparkDriver, "start", lambda *_, **__: driver)
    made = Quiet(tmp_path, spark)
    yield made
    made.ledger.close()


def test_a_wave_over_quiet_inlets_costs_no_spark_job_after_the_first_round(quiet: Quiet) -> None:
    verbs.send(quiet.ledger, "main", Wave(pond=PondKey("reports@1")))
    # The Inlets are asked again while the others compute, so that is more than four attempts; each computes once.
    assert sorted(quiet.round(12)) == ["orders", "rates", "reports", "sales"]
    before, runs = quiet.jobs(), quiet.runs("reports")
    assert quiet.round(40) == []
    assert quiet.jobs() == before
    assert quiet.runs("reports") >= runs + 15, "the Wave goes on, and freshness with it"
    (quiet.landing / "b.json").write_text('{"n": 2}\n')
    assert sorted(set(quiet.round(16))) == ["orders", "reports", "sales"]
    assert quiet.jobs() > before


def test_the_columns_of_a_table_are_known_after_its_first_run(quiet: Quiet) -> None:
    verbs.send(quiet.ledger, "main", Pulse(pond=PondKey("reports@1")))
    quiet.round(4)
    with quiet.ledger.reading() as tx:
        view = read_lineage(tx, "main", "reports.reports.n")
    assert [f"{each.source}.{each.source_column}" for each in view.columns] == ["orders@1.orders.n", "sales@1.sales.n"]
    assert view.unknown == ()
