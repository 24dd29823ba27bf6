"""A change is tried below `main` on the data of `main`, promoted, and the environment removed: on real Spark."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pyarrow.dataset
import pytest

from pondage.cli.main import main
from pondage.define.values.names import PondKey
from pondage.engine.execute.spark_executor import SparkExecutor
from pondage.engine.process.config import WorkerConfig
from pondage.engine.services.vacuum import vacuum
from pondage.kernel.demand.events import Tap
from pondage.ledger.act import inspections, questions, verbs
from pondage.ledger.queue import processes
from pondage.ledger.upkeep import retention
from pondage.views.ponds.diff import comparison
from pondage.work.diff import TableDifference
from tests.spark.pipeline import Pipeline

pytestmark = pytest.mark.spark

PONDS = """
from pondage import pond

@pond
def orders(spark):
    return spark.range(0, 4, 1, 1)

@pond
def sales(orders):
    return orders.selectExpr("id", "id * {factor} AS amount")
"""


class Below:
    """A pipeline with a worker for whatever code was deployed last, wherever."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline, self.ledger = pipeline, pipeline.ledger
        self.warehouse = Path(pipeline.config.warehouse)

    def follow_code(self) -> None:
        sys.modules.pop("ponds", None)
        made = self.pipeline
        with self.ledger.transaction() as tx:
            made.code = retention.newest_archive(tx)
            made.process = processes.register(
                tx, public_id=f"p-{made.code[:12]}", machine="m", pid=1, pid_started=1, role="worker", code=made.code
            )
        config = WorkerConfig(engine=made.config, public_id="p1", code=made.code, parent=0)
        made.executor = SparkExecutor(config, self.ledger)

    def rows(self, environment: str, sql: str) -> list[list[object]]:
        asked = questions.submit(self.ledger, environment, sql, limit=100)
        while self.pipeline.attempt():
            pass
        answer = questions.result(self.ledger, asked)
        assert answer is not None
        assert answer.result is not None, answer.failure
        found: list[list[object]] = json.loads(answer.result)["rows"]
        return found

    def said(self, *words: str) -> None:
        assert main([*words, "--project", str(self.pipeline.path)]) == 0

    def difference(self, environment: str, pond: str, *, against: str) -> TableDifference | None:
        """Answer what `pondage diff` finds; None when both show the same snapshot, and nobody has to look."""
        with self.ledger.reading() as tx:
            found = comparison(tx, self.ledger, environment, pond, against=against, keys=("id",))
        if found.is_same:
            return None
        with self.ledger.transaction() as tx:
            asked = inspections.submit_diff(
                tx, self.ledger, 1, before=found.old, after=found.new, keys=found.keys, limit=20
            )
        while self.pipeline.attempt():
            pass
        answer = questions.result(self.ledger, asked)
        assert answer is not None
        assert answer.result is not None, answer.failure
        return msgspec.json.decode(answer.result, type=tuple[TableDifference, ...])[0]

    def shown(self, environment: str, pond: str) -> dict[str, object]:
        self.pipeline.outbox.run_once()
        file = self.warehouse / "tables" / environment / pond / "v1" / pond / "CURRENT.json"
        found: dict[str, object] = msgspec.json.decode(file.read_bytes())
        return found


def test_a_change_is_tried_on_the_data_above_promoted_and_left_there(deployed: Callable[[str], Pipeline]) -> None:
    pipeline = deployed(PONDS.format(factor=2))
    pipeline.run("sales")
    shop = Below(pipeline)
    total = "SELECT sum(s.amount) AS total FROM sales s JOIN orders o ON o.id = s.id"
    assert shop.rows("main", total) == [[12]]
    (pipeline.path / "ponds.py").write_text(PONDS.format(factor=10))
    shop.said("deploy", "--env", "dev")
    assert shop.rows("dev", total) == [[12]], "nothing was built below yet"
    shop.follow_code()
    verbs.send(pipeline.ledger, "dev", Tap(pond=PondKey("sales@1")))
    assert pipeline.attempt()
    assert not pipeline.attempt(), "orders are those of main: nothing is read from outside again"
    assert shop.rows("dev", total) == [[60]]
    assert shop.rows("main", total) == [[12]]
    changed = shop.difference("dev", "sales", against="main")
    assert changed is not None
    assert (changed.added, changed.removed, changed.changed, changed.columns) == (0, 0, 3, {"amount": 3})
    below, before = shop.shown("dev", "sales"), shop.shown("main", "sales")
    shop.said("promote", "sales", "--env", "dev", "--deploy")
    assert shop.rows("main", total) == [[60]]
    above = shop.shown("main", "sales")
    assert above["snapshot"] == below["snapshot"], "nothing was copied"
    assert shop.difference("dev", "sales", against="main") is None
    shop.said("rollback", "sales", "--to", str(before["run"]))
    assert shop.rows("main", total) == [[12]], "a promotion can be undone"
    assert shop.shown("main", "sales")["snapshot"] == before["snapshot"]
    shop.said("promote", "sales", "--env", "dev")
    assert shop.rows("main", total) == [[60]], "the code is that of the promotion, and it can be promoted again"
    above = shop.shown("main", "sales")
    shop.said("env", "remove", "dev", "--yes")
    pipeline.outbox.run_once()
    assert not (shop.warehouse / "tables" / "dev").exists()
    vacuum(pipeline.ledger, pipeline.config.warehouse)
    files = [str(each).removeprefix("file:") for each in above["files"]]  # type: ignore[attr-defined]
    assert sum(pyarrow.dataset.dataset(files).to_table()["amount"].to_pylist()) == 60
