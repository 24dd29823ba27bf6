"""A table in partitions goes through every room: an environment, a comparison, a promotion, back, and a clean-up."""

from __future__ import annotations

import json
from collections.abc import Callable

import pyarrow.dataset
import pytest

from pondage.define.values.names import PondKey
from pondage.engine.services.vacuum import vacuum
from pondage.kernel.demand.events import Tap
from pondage.ledger.act import verbs
from pondage.views.ponds.partitions import PartitionsView
from pondage.views.ponds.show import PondShow, show
from tests.spark.pipeline import Pipeline
from tests.spark.test_environments import Below

pytestmark = pytest.mark.spark

PONDS = """
from pondage import pond

@pond(mode="partition", by=["day"], expected="daily")
def trips(spark):
    rows = spark.read.schema("id bigint, day string, fare double").json("{landing}")
    return rows.selectExpr("id", "day", "fare * {factor} AS fare")
"""
ALL = "SELECT id, day, fare FROM trips ORDER BY id"


def partitions(shop: Below, environment: str) -> PartitionsView:
    with shop.ledger.reading() as tx:
        view = show(tx, environment, "trips")
    assert isinstance(view, PondShow)
    found = view.ripples[0].partitions
    assert found is not None
    return found


def test_a_first_batch_below_extends_the_table_above_is_compared_promoted_and_taken_back(
    deployed: Callable[[str], Pipeline], tmp_path_factory: pytest.TempPathFactory
) -> None:
    landing = tmp_path_factory.mktemp("landed") / "trips.json"

    def land(*rows: tuple[int, str]) -> None:
        landing.write_text("".join(json.dumps({"id": number, "day": day, "fare": 1.0}) + "\n" for number, day in rows))

    land((1, "2026-03-01"), (2, "2026-03-02"))
    pipeline = deployed(PONDS.format(landing=landing, factor=1))
    pipeline.run("trips")
    shop = Below(pipeline)
    before = shop.shown("main", "trips")
    (pipeline.path / "ponds.py").write_text(PONDS.format(landing=landing, factor=10))
    shop.said("deploy", "--env", "dev")
    shop.follow_code()
    land((3, "2026-03-02"), (4, "2026-03-04"))
    verbs.send(pipeline.ledger, "dev", Tap(pond=PondKey("trips@1")))
    assert pipeline.attempt()
    made = [[1, "2026-03-01", 1.0], [3, "2026-03-02", 10.0], [4, "2026-03-04", 10.0]]
    assert shop.rows("dev", ALL) == made
    assert shop.rows("main", ALL) == [[1, "2026-03-01", 1.0], [2, "2026-03-02", 1.0]]
    view = partitions(shop, "dev")
    assert view.missing == ("2026-03-03",)
    assert [(each.values, each.is_older_code) for each in view.partitions] == [
        (("2026-03-04",), False), (("2026-03-02",), False), (("2026-03-01",), True),
    ]  # fmt: skip
    changed = shop.difference("dev", "trips", against="main")
    assert changed is not None
    assert (changed.added, changed.removed, changed.changed) == (2, 1, 0)
    shop.said("promote", "trips", "--env", "dev", "--deploy")
    assert shop.rows("main", ALL) == made
    assert partitions(shop, "main").older_code == 1
    above = shop.shown("main", "trips")
    assert sorted(above["partitions"]) == [["2026-03-01"], ["2026-03-02"], ["2026-03-04"]]  # type: ignore[call-overload]
    shop.said("rollback", "trips", "--to", str(before["run"]))
    assert shop.rows("main", ALL) == [[1, "2026-03-01", 1.0], [2, "2026-03-02", 1.0]]
    assert shop.shown("main", "trips")["snapshot"] == before["snapshot"]
    # What comes next extends what is shown, by the code that was promoted.
    land((5, "2026-03-05"))
    pipeline.run("trips")
    left = [[1, "2026-03-01", 1.0], [2, "2026-03-02", 1.0], [5, "2026-03-05", 10.0]]
    assert shop.rows("main", ALL) == left
    shop.said("env", "remove", "dev", "--yes")
    pipeline.outbox.run_once()
    vacuum(pipeline.ledger, pipeline.config.warehouse)
    files = [str(each).removeprefix("file:") for each in shop.shown("main", "trips")["files"]]  # type: ignore[attr-defined]
    assert sorted(pyarrow.dataset.dataset(files).to_table()["id"].to_pylist()) == [1, 2, 5]
    shop.said("doctor", "--replay")
