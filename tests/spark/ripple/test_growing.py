"""Tables that grow, on real Spark and real files: batches, changes, merges, compaction, and what each costs."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pondage.define.values.names import PondKey
from pondage.engine.services.vacuum import vacuum
from pondage.kernel.demand.events import Force, Rollback
from pondage.ledger.act import compaction, rollback
from pondage.ledger.queue.processes import alive
from pondage.ledger.upkeep import reap
from pondage.spark.session.driver import SparkDriver
from tests.spark.ripple.growing_shop import Fate, Shop

FATES: list[Fate] = ["finish", "crash", "zombie", "fail"]
SEQUENCES = int(os.environ.get("PONDAGE_GROWING_ON_SPARK", "2"))


@pytest.fixture
def shop(tmp_path: Path, driver: SparkDriver, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "ponds", raising=False)
    monkeypatch.setattr(SparkDriver, "start", lambda *_, **__: driver)
    made = Shop(tmp_path, spark)
    yield made
    made.ledger.close()
    sys.modules.pop("ponds", None)


def order(identity: int, amount: float = 1.0, **more: object) -> dict[str, object]:
    return {"id": identity, "amount": amount, **more}


def test_a_batch_costs_exactly_the_jobs_of_its_own_writes_through_three_ponds(shop: Shop) -> None:
    shop.deploy("append")
    shop.land(order(1), order(2))
    assert shop.ask() == ["orders", "clean", "shipped"]
    for identity in (3, 4):
        shop.land(order(identity))
        before = shop.jobs()
        assert shop.ask() == ["orders", "clean", "shipped"]
        assert shop.jobs() - before == 3
    expected = [(1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0)]
    assert shop.rows("shipped") == shop.rows("orders") == shop.rows_outside("shipped") == expected
    assert len({Path(path).parent for path in shop.table("shipped").paths}) == 3
    assert shop.table("shipped").rows == 4
    assert not (shop.stable("shipped") / "current").exists()


def test_a_column_that_comes_later_is_null_in_older_batches(shop: Shop) -> None:
    shop.deploy("append")
    shop.land(order(1))
    shop.ask()
    shop.deploy("append", columns="id long, amount double, country string, _deleted boolean")
    shop.land(order(2, country="de"))
    shop.ask()
    assert shop.rows("shipped") == shop.rows("orders") == [(1, 1.0, None), (2, 1.0, "de")]
    shop.deploy("append")
    shop.land(order(3))
    shop.ask("orders")
    assert "breaks the contract" in shop.error("orders")


def test_a_merge_changes_deletes_and_adds_rows_and_leaves_other_files_alone(shop: Shop) -> None:
    shop.deploy("merge", grown="merge")
    shop.land(order(1), order(2))
    shop.ask()
    shop.land(order(100), order(101))
    shop.ask()
    far = shop.table("orders").paths
    assert len(far) == 2
    shop.land(order(2, _deleted=True), order(1, 5.0), order(3))
    shop.ask()
    expected = [(1, 5.0), (3, 1.0), (100, 1.0), (101, 1.0)]
    assert shop.rows("orders") == shop.rows("clean") == shop.rows("shipped") == expected
    assert shop.rows_outside("shipped") == expected
    assert far[1] in shop.table("orders").paths, "no key of it was touched"
    assert far[0] not in shop.table("orders").paths


@pytest.mark.parametrize(
    ("rows", "message"),
    [([order(1), order(1, 2.0)], "more than once"), ([{"amount": 1.0}], "is null")],
)
def test_a_merge_refuses_keys_that_are_null_or_there_twice(
    shop: Shop, rows: list[dict[str, object]], message: str
) -> None:
    shop.deploy("merge", grown="merge")
    shop.land(*rows)
    shop.ask("orders")
    assert message in shop.error("orders")


def test_a_follower_gets_everything_after_a_rollback_and_after_force_full(shop: Shop) -> None:
    shop.deploy("append")
    for identity in (1, 2):
        shop.land(order(identity))
        shop.ask()
    older = shop.runs("orders")[0]
    rollback.roll_back_pond(shop.ledger, "main", PondKey("orders@1"), older)
    assert shop.ask("clean", Force(pond=PondKey("clean@1"))) == ["clean"]
    assert shop.rows("orders") == shop.rows("clean") == [(1, 1.0)]
    assert shop.number("clean") == 1, "it began anew"
    shop.land(order(3))
    assert shop.ask() == ["orders", "clean", "shipped"]
    assert shop.rows("shipped") == [(1, 1.0), (3, 1.0)]
    assert shop.number("clean") == 2, "from there it goes on with changes"
    shop.land(order(7))
    assert shop.ask("orders", Force(pond=PondKey("orders@1"), full=True)) == ["orders"]
    assert shop.rows("orders") == [(7, 1.0)]
    shop.land(order(8))
    shop.ask()
    assert shop.rows("shipped") == [(7, 1.0), (8, 1.0)]


def test_a_compaction_changes_the_files_and_nothing_else(shop: Shop) -> None:
    shop.deploy("append")
    for identity in range(3):
        shop.land(order(identity))
        shop.ask("orders" if identity else "shipped")
    before = shop.runs("orders")[-1]
    assert [each.batches for each in compaction.begin(shop.ledger, "main", PondKey("orders@1"))] == [3]
    held = shop.claim()
    assert held is not None
    assert shop.carry_out(held)
    assert len(shop.table("orders").paths) == 1
    assert shop.runs("orders")[-1] == before, "a compaction is no Run"
    assert shop.rows("orders") == shop.rows_outside("orders") == [(0, 1.0), (1, 1.0), (2, 1.0)]
    shop.land(order(3))
    shop.ask()
    assert shop.rows("shipped") == [(each, 1.0) for each in range(4)]
    assert shop.number("clean") == shop.number("shipped") == 2, "who was in the middle still gets its batches"
    assert len(shop.table("orders").paths) == 2


def test_a_compaction_whose_worker_was_taken_for_dead_changes_nothing(shop: Shop) -> None:
    shop.deploy("append")
    for identity in range(2):
        shop.land(order(identity))
        shop.ask("orders")
    compaction.begin(shop.ledger, "main", PondKey("orders@1"))
    held = shop.claim()
    assert held is not None
    with shop.ledger.reading() as tx:
        (process,) = [each for each in alive(tx) if each.id == shop.process]
    reap.reap_process(shop.ledger, process, reason="silent")
    assert not shop.carry_out(held)
    assert len(shop.table("orders").paths) == 2


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_followed_tables_on_spark_equal_those_computed_from_scratch(shop: Shop, seed: int) -> None:
    chance = random.Random(seed)
    truth: dict[int, float] = {}
    shop.deploy("merge", grown="merge")
    mode = "merge"
    past: dict[int, dict[int, float]] = {}
    for _ in range(5):
        match chance.choices(["batch", "mode", "rollback", "full", "compact", "vacuum"], [6, 1, 1, 1, 2, 1])[0]:
            case "mode":
                mode = chance.choice(["merge", "append", "replace"])
                shop.deploy(mode, grown="merge")
            case "rollback" if len(past) > 1:
                older = chance.choice(list(past)[-2:])
                if older != shop.runs("orders")[-1]:
                    shop.ask("orders", Rollback(pond=PondKey("orders@1"), run=_public_id(shop, older)))
                    truth = past[shop.runs("orders")[-1]] = dict(past[older])
            case "full":
                shop.ask("clean", Force(pond=PondKey("clean@1"), full=True)) if shop.runs("clean") else None
            case "compact" if mode != "replace" and shop.runs("orders"):
                compaction.begin(shop.ledger, "main", PondKey("orders@1"))
            case "vacuum":
                vacuum(shop.ledger, str(shop.path / "warehouse"))
        changed = {chance.randint(0, 9): (float(chance.randint(0, 9)), chance.random() < 0.3) for _ in range(3)}
        if mode != "merge":
            fresh = 100 + len(past) * 10 + chance.randint(0, 5)
            changed = {fresh: (1.0, False)}
        shop.land(*(order(key, amount, _deleted=gone) for key, (amount, gone) in changed.items()))
        shop.ask(fate=lambda: chance.choices(FATES, [12, 1, 1, 1])[0])
        kept = {} if mode == "replace" else truth
        truth = {key: amount for key, amount in kept.items() if key not in changed}
        truth |= {key: amount for key, (amount, gone) in changed.items() if not gone}
        past[shop.runs("orders")[-1]] = truth
        for name in ("orders", "clean", "shipped"):
            assert shop.rows(name) == sorted(truth.items()), f"{name} differs"


def _public_id(shop: Shop, run: int) -> str:
    with shop.ledger.reading() as tx:
        row = tx.row("SELECT public_id FROM runs WHERE id = :id", id=run)
    assert row is not None
    return str(row["public_id"])
