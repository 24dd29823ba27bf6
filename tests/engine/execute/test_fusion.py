"""A fused Ripple from the project's files to the worker: no node, no table, and its code counts for its consumer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pondage.engine.execute.spark_executor import SparkExecutor
from pondage.engine.process.config import WorkerConfig
from pondage.kernel.demand.events import Pulse
from pondage.ledger.act import verbs
from pondage.ledger.act.questions import submit
from pondage.ledger.commit import guarded, polling
from pondage.ledger.commit import work as ledger_work
from pondage.ledger.data import snapshots
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.query import QueryTask
from pondage.ledger.kinds.ripple import RippleTask, Same, Written
from pondage.ledger.ledger import Durability, Ledger
from pondage.ledger.queue import processes
from pondage.spark.ripple import ripple
from pondage.spark.ripple.ripple import RippleWork
from pondage.views.ponds.show import show_pond
from pondage.views.ponds.status import status
from tests.engine.execute.test_spark_executor import PretendedDriver
from tests.engine.plain import engine_config
from tests.engine.projects import deployed_into, write_project
from tests.ledger.harness import content

PONDS = """
from pondage import Pond
raw = Pond("raw")

@raw.ripple
def rows(spark):
    return None

shop = Pond("shop", fuse=True)
source = shop.source("raw")

@shop.ripple(reads={"rows": source["rows"]})
def clean(rows):
    return rows.where("value > 3")

@shop.ripple
def daily(clean):
    return clean.groupBy("day").count()
"""


class Shop:
    """A deployed project and a worker that only pretends to compute."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ledger = Ledger.open(f"sqlite://{path / 'ledger.db'}", durability=Durability(probe_s=0))
        self.deploy(PONDS)

    def deploy(self, ponds: str) -> None:
        self.code = deployed_into(self.ledger, write_project(self.path / "project", ponds))
        with self.ledger.transaction() as tx:
            self.process = processes.register(
                tx, public_id=self.ledger.ids.new("p"), machine="m", pid=1, pid_started=1, role="worker", code=self.code
            )

    def pulse(self, *, is_same: bool = False) -> list[Work]:
        """Bring the shop up to date and answer what was carried out; `is_same`: its Inlet finds nothing new."""
        verbs.send(self.ledger, "main", Pulse(pond="shop@1"))
        done: list[Work] = []
        while (held := self._claim()) is not None:
            done.append(held)
            if is_same and held.claim.node == "rows":
                assert guarded.commit(self.ledger, held, Same(), process=self.process)
            else:
                assert guarded.commit(self.ledger, held, Written(content(held)), process=self.process)
        return done

    def _claim(self) -> Work | None:
        return ledger_work.claim_work(
            self.ledger,
            process=self.process,
            queues=polling.queues_for(self.ledger, code=self.code),
            token=self.ledger.ids.new("t"),
            is_alone=True,
        )


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path)
    yield made
    made.ledger.close()


def nodes(done: list[Work]) -> list[str]:
    return [each.claim.node for each in done]


def test_only_the_consumer_is_dispatched_and_it_reads_what_the_fused_ripple_reads(shop: Shop):
    rows, daily = shop.pulse()
    assert nodes([rows, daily]) == ["rows", "daily"]
    assert isinstance(daily.task, RippleTask)
    assert list(daily.task.inputs) == ["clean/rows"]
    with shop.ledger.reading() as tx:
        row = tx.row("SELECT max(id) AS id FROM runs WHERE state = 'completed'")
        assert row is not None
        assert list(snapshots.outputs(tx, row["id"])) == ["daily"]  # type: ignore[arg-type]


def test_a_change_of_the_fused_code_runs_its_consumer_and_nothing_else_does(shop: Shop):
    shop.pulse()
    assert nodes(shop.pulse(is_same=True)) == ["rows"]
    shop.deploy(PONDS.replace("value > 3", "value > 4"))
    assert nodes(shop.pulse(is_same=True)) == ["rows", "daily"]
    shop.deploy(PONDS.replace('"value > 3")', '"value > 4")  # a comment'))
    assert nodes(shop.pulse(is_same=True)) == ["rows"]


def test_status_show_and_query_know_what_is_fused(shop: Shop):
    shop.pulse()
    with shop.ledger.reading() as tx:
        view = status(tx, shop.ledger, "main").pond("shop@1")
        assert view is not None
        assert view.fused == {"clean": "daily"}
        (row,) = (each for each in _ponds(tx) if each.key == "shop@1")
        (shown,) = show_pond(tx, "main", row).ripples
    assert (shown.name, shown.fused, shown.reads, shown.table) == ("daily", ("clean",), ("raw.rows",), "shop")
    submit(shop.ledger, "main", "SELECT * FROM shop.clean", limit=1)
    held = shop._claim()
    assert held is not None
    assert isinstance(held.task, QueryTask)
    assert held.task.fused == {"shop.clean": "daily", "shop@1.clean": "daily"}
    assert set(held.task.views) == {"shop", "shop.daily"}


def _ponds(tx):  # type: ignore[no-untyped-def]
    from pondage.ledger.tables import actors

    return actors.ponds(tx, actors.environment(tx, "main"))  # type: ignore[arg-type]


def test_the_worker_brings_the_functions_of_fused_ripples_along(shop: Shop, monkeypatch: pytest.MonkeyPatch):
    from pondage.engine.attempt.attempt import Attempt
    from pondage.engine.attempt.log import AttemptLog
    from pondage.engine.execute import spark_executor

    works: list[RippleWork] = []

    def run(_session: object, work: RippleWork) -> object:
        works.append(work)
        return content(held)

    driver = PretendedDriver()
    # Another test of this process may have imported a module of the same name.
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "ponds", raising=False)
    monkeypatch.setattr(spark_executor, "SparkDriver", driver)
    monkeypatch.setattr(ripple, "run_ripple", run)
    _, held = shop.pulse()
    config = WorkerConfig(engine=engine_config(shop.path), public_id="p1", code=shop.code, parent=0)
    log = AttemptLog(shop.path / "attempt.log")
    SparkExecutor(config, shop.ledger).execute(Attempt(held, log, clock=lambda: 0.0, on_phase=lambda _: None))
    log.close()
    (work,) = works
    assert [getattr(each, "__name__", None) for each in (work.function, work.fused["clean"])] == ["daily", "clean"]
    assert [each.name for each in work.ripple.members] == ["clean"]
