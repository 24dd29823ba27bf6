"""The example `pricing`: pushes and files reach a reactor, its Pond is published, and Spark aggregates it by Wave."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pondage.cli.start.demo import copy_example
from pondage.engine.execute.spark_executor import SparkExecutor
from pondage.engine.process.config import WorkerConfig
from pondage.ledger.act.branching import deployed
from pondage.ledger.act.deploy import deploy
from pondage.ledger.queue import processes
from pondage.ledger.step import advance
from pondage.plan.deploy.planner import checked, make_plan
from pondage.project.archive import pack_project
from pondage.project.reader import read_declared
from pondage.spark.session.driver import SparkDriver
from tests.engine.live.hosting import Hosting
from tests.spark.pipeline import Pipeline


class Desk(Hosting, Pipeline):
    """The example with a live host of its own, and the Spark of all tests as its worker."""

    def __init__(self, root: Path) -> None:
        copy_example(root, "pricing")
        Hosting.__init__(self, root)
        self.path, self.failures = root, []
        with self.ledger.transaction() as tx:
            self.process = processes.register(
                tx, public_id="p-worker", machine="m", pid=1, pid_started=1, role="worker", code=self.code
            )
        self.executor = SparkExecutor(
            WorkerConfig(engine=self.config, public_id="p1", code=self.code, parent=0), self.ledger
        )

    def write(self, *, version: str = "1.0.0", mark: str = "") -> None:
        """Leave the example as it is; only the settings of the tests are added."""

    def deploy(self, ponds: str = "") -> str:  # type: ignore[override]
        declared = read_declared(self.project)
        with self.ledger.reading() as tx:
            found = deployed(tx, self.ledger, "main")
        plan = checked(make_plan(declared.ponds, found, project=self.project.name, environment="main"))
        return deploy(
            self.ledger, "main", project=self.project.name, definitions=list(plan.ponds), removed=[],
            archive=pack_project(self.project).data, summary="{}", expected=found, reactors=declared.reactors,
        )  # fmt: skip

    def rows(self, pond: str) -> list[dict[str, object]]:
        with self.ledger.reading() as tx:
            if tx.row(
                """SELECT r.id FROM runs r JOIN ponds p ON p.id = r.pond
                   WHERE p.name = :name AND r.state = 'completed'""",
                name=pond,
            ) is None:  # fmt: skip
                return []
        (table,) = self.published(pond).tables
        return [row for path in table.content.paths for row in pq.read_table(path).to_pylist()]

    def last(self) -> str:
        """Do what a worker would, and answer the time of the last quote that Spark has seen."""
        advance.advance_due(self.ledger, process=None)
        while self.attempt():
            pass
        assert self.failures == []
        return "".join(str(row["last"]) for row in self.rows("spreads"))


@pytest.mark.spark
def test_quotes_are_published_every_second_and_aggregated_by_wave(
    tmp_path: Path, driver: SparkDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("ponds", "ponds.quoting", "ponds.spreads"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(SparkDriver, "start", lambda *_, **__: driver)
    desk = Desk(tmp_path / "project")
    try:
        desk.start()
        prices = tmp_path / "prices.json"
        prices.write_text('{"ACME": 10.2}')
        shutil.move(prices, desk.root / "inbox" / "prices.json")

        def push(bid: float, at: str) -> None:
            value = {"symbol": "ACME", "bid": bid, "ask": bid + 0.4, "at": at}
            assert desk.client().ask(op="push", source="book", value=value)["accepted"] is True

        desk.until(lambda: desk.state()["ok"] != 0, what="no prices")
        push(10.0, "2026-01-05T09:00:00Z")
        desk.until(lambda: desk.last().startswith("2026-01-05 09:00:00"), what="no spreads")
        push(12.0, "2026-01-05T09:00:01Z")
        desk.until(lambda: desk.last().startswith("2026-01-05 09:00:01"), what="the Wave did not run again")
        (spread,) = desk.rows("spreads")
        quotes = desk.rows("quotes")
        assert spread["quotes"] == len(quotes) >= 2
        assert {row["symbol"] for row in quotes} == {"ACME"}
        assert spread["spread"] == 0.4
    finally:
        desk.close()
