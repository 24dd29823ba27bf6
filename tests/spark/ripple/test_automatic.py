"""Tables that are kept up to date: real Spark, real files, real Runs, and each result beside a full computation."""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from pondage.define.project.alert import AlertRule
from pondage.define.values.names import PondKey
from pondage.engine.services.vacuum import vacuum
from pondage.kernel.demand.events import Force
from pondage.ledger.act import compaction, rollback
from pondage.ledger.kinds.ripple import Written
from pondage.spark.files.read import read_snapshot
from pondage.spark.session.driver import SparkDriver
from pondage.views.ponds.show import PondShow, show
from pondage.views.ponds.troubles import facts, troubles
from pondage.views.ponds.why import why
from pondage.views.runs.runs import RunDetailView
from pondage.work.upkeep import Upkeep
from tests.spark.ripple.growing_shop import Fate, Shop

SEQUENCES = int(os.environ.get("PONDAGE_AUTOMATIC_ON_SPARK", "2"))
FATES: list[Fate] = ["finish", "crash", "zombie", "fail"]

INLETS = """
from pondage import Pond, pond, between, rows
from pyspark.sql import DataFrame, functions as F, Window
from pyspark.sql.types import LongType
LANDING = {landing!r}

@pond(mode="append")
def orders(spark):
    return spark.read.schema("id long, customer long, amount long").json(LANDING + ".orders")

@pond(mode="merge", keys=["customer"])
def customers(spark):
    return spark.read.schema("customer long, country string, _deleted boolean").json(LANDING + ".customers")
"""
TOTALS = """
@pond(mode="auto", verify="off")
def totals(orders):
    return orders.groupBy("customer").agg(F.sum("amount").alias("amount"), F.count("*").alias("n"))
"""
ENRICHED = """
@pond(mode="auto", verify="off")
def enriched(orders, customers):
    return orders.join(customers, "customer", "left")

@pond(mode="auto", verify="off")
def countries(enriched):
    return enriched.groupBy("country").agg(F.sum("amount").alias("amount"), F.count("*").alias("n"))

@pond(mode="auto", verify="off")
def large(enriched):
    return enriched.where("amount > 50").select("id", "country")

@pond
def last(countries, large):
    return countries.limit(1)
"""
Row = tuple[object, ...]


class Kept(Shop):
    """orders (append) and customers (merge), and Ponds that are kept up to date behind them."""

    def declare(self, behind: str) -> None:
        self.deploy_text(INLETS.format(landing=str(self.path / "landing")) + behind)

    def orders(self, *rows: tuple[int, int | None, int]) -> None:
        self._land("orders", [dict(zip(("id", "customer", "amount"), row, strict=True)) for row in rows])

    def customers(self, *rows: tuple[int, str] | tuple[int, str, bool]) -> None:
        self._land("customers", [dict(zip(("customer", "country", "_deleted"), row, strict=False)) for row in rows])

    def _land(self, name: str, rows: list[dict[str, object]]) -> None:
        lines = "".join(msgspec.json.encode(row).decode() + "\n" for row in rows)
        (self.path / f"landing.{name}").write_text(lines)

    def bag(self, name: str) -> Counter[Row]:
        return Counter(tuple(row) for row in read_snapshot(self.spark, self.table(name)).collect())

    def upkeep(self, name: str) -> Upkeep:
        found = self.table(name).upkeep
        assert found is not None
        return found


@pytest.fixture
def kept(tmp_path: Path, driver: SparkDriver, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "ponds", raising=False)
    monkeypatch.setattr(SparkDriver, "start", lambda *_, **__: driver)
    made = Kept(tmp_path, spark)
    made.orders((1, 1, 10), (2, 1, 20), (3, 2, 5))
    made.customers((1, "de"), (2, "at"))
    yield made
    made.ledger.close()
    sys.modules.pop("ponds", None)


def test_only_the_groups_of_new_rows_are_computed_again(kept: Kept) -> None:
    kept.declare(TOTALS)
    kept.ask("totals")
    assert kept.upkeep("totals").said == "everything was computed: it is the first Run"
    kept.orders((4, 2, 7), (5, None, 1))
    kept.ask("totals")
    assert kept.bag("totals") == Counter([(1, 30, 2), (2, 12, 2), (None, 1, 1)])
    found = kept.upkeep("totals")
    assert (found.how, found.changed, found.of) == ("keyed", 2, 5)
    assert found.said == (
        "2 of 5 rows changed; each row depends only on rows with the same customer, so 2 of 2 were computed again"
    )
    assert kept.number("totals") == 2, "the chain goes on from the Run that computed everything"


def test_new_rows_of_a_filter_are_appended_and_no_file_is_written_again(kept: Kept) -> None:
    kept.declare('\n@pond(mode="auto", verify="off")\ndef large(orders):\n    return orders.where("amount >= 10")\n')
    kept.ask("large")
    before = kept.table("large").paths
    kept.orders((4, 2, 70), (5, None, 1))
    kept.ask("large")
    assert kept.bag("large") == Counter([(1, 1, 10), (2, 1, 20), (4, 2, 70)])
    assert set(before) < set(kept.table("large").paths)
    assert kept.upkeep("large").said == (
        "2 of 5 rows are new; each new row of a table gives rows of its own, so 1 were added to 2"
    )


def test_rows_of_a_merge_that_came_changed_and_went_reach_everything_behind(kept: Kept) -> None:
    kept.declare(ENRICHED)
    kept.ask("last")
    kept.orders((4, 2, 70), (5, 3, 60), (6, None, 1))
    kept.customers((2, "ch"), (3, "it"), (1, "de", True))
    kept.ask("last")
    assert kept.bag("enriched") == Counter(
        [(1, 1, 10, None), (1, 2, 20, None), (2, 3, 5, "ch"), (2, 4, 70, "ch"), (3, 5, 60, "it"), (None, 6, 1, None)]
    )
    assert kept.bag("countries") == Counter([(None, 31, 3), ("ch", 75, 2), ("it", 60, 1)])
    assert kept.bag("large") == Counter([(4, "ch"), (5, "it")])
    assert [kept.upkeep(name).how for name in ("enriched", "countries", "large")] == ["keyed", "keyed", "keyed"]


def test_a_follower_gets_the_rows_that_came_and_those_that_went(kept: Kept) -> None:
    kept.declare(
        TOTALS
        + """
@pond(mode="append", changes=["totals"])
def told(run):
    return run.changes("totals").withColumn("is_full", F.lit(run.is_full))
"""
    )
    kept.ask("told")
    kept.orders((4, 2, 7))
    kept.ask("told")
    assert kept.bag("told") == Counter(
        [(1, 30, 2, 1, True), (2, 5, 1, 1, True), (2, 12, 2, 1, False), (2, 5, 1, -1, False)]
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            'def t(orders):\n    n = orders.count()\n    return orders.where(F.lit(n) > 0)',
            "while it was called, so its plan depends on data",
        ),
        (
            "def t(orders):\n    return orders.withColumn('r', F.row_number().over(Window.orderBy('id')))",
            "Window has no partition, so every row may depend on every other",
        ),
        ("def t(orders):\n    return orders.withColumn('r', F.rand())", "something in it is not deterministic"),
        (
            "def t(orders):\n    return orders.withColumn('d', F.current_date())",
            "CurrentDate is not among the expressions that can be kept up to date",
        ),
        ("def t(orders, run):\n    return orders.withColumn('f', F.lit(run.freshness_us))", "asks for a freshness"),
        ("def t(orders, run):\n    return orders if run.is_full else None", "it says itself what it takes"),
    ],
)  # fmt: skip
def test_what_no_rule_covers_is_computed_whole_and_said(kept: Kept, text: str, why: str) -> None:
    kept.declare(f'\n@pond(mode="auto", verify="off")\n{text}\n')
    kept.ask("t")
    kept.orders((4, 2, 7))
    kept.ask("t")
    assert kept.upkeep("t").how == "full"
    assert why in kept.upkeep("t").said
    assert [row[:3] for row in kept.bag("t")] == [(1, 1, 10), (2, 1, 20), (3, 2, 5), (4, 2, 7)] or len(
        kept.bag("t")
    ) == 4


def test_rows_that_a_program_brings_are_part_of_what_is_compared(kept: Kept) -> None:
    kept.declare(
        """
import pandas as pd

@pond(mode="auto", verify="off")
def t(spark, orders):
    spark.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
    return orders.join(spark.createDataFrame(pd.read_json(LANDING + ".names", lines=True)), "customer")
"""
    )
    kept._land("names", [{"customer": 1, "name": "a"}, {"customer": 2, "name": "b"}])
    kept.ask("t")
    kept.orders((4, 2, 7))
    kept.ask("t")
    assert kept.upkeep("t").how == "append"
    kept._land("names", [{"customer": 1, "name": "z"}, {"customer": 2, "name": "b"}])
    kept.orders((5, 2, 7))
    kept.ask("t")
    assert "the query, or the columns of its tables, changed" in kept.upkeep("t").said
    assert {row[3] for row in kept.bag("t")} == {"z", "b"}


def test_new_code_force_full_a_rollback_and_new_settings_compute_everything(kept: Kept) -> None:
    kept.declare(TOTALS)
    kept.ask("totals")
    older = kept.runs("orders")[0]
    kept.orders((4, 2, 7))
    kept.ask("totals")
    kept.ask("totals", Force(pond=PondKey("totals@1"), full=True))
    assert "somebody asked for it" in kept.upkeep("totals").said
    kept.declare(TOTALS.replace("F.sum", "F.max"))
    kept.orders((5, 1, 9))
    kept.ask("totals")
    assert "the code" in kept.upkeep("totals").said
    assert kept.bag("totals") == Counter([(1, 20, 3), (2, 7, 2)])
    rollback.roll_back_pond(kept.ledger, "main", PondKey("orders@1"), older)
    kept.ask("totals", Force(pond=PondKey("totals@1")))
    assert "orders cannot say what changed" in kept.upkeep("totals").said
    assert kept.bag("totals") == Counter([(1, 20, 2), (2, 5, 1)])


def test_rules_on_rows_judge_what_is_new(kept: Kept) -> None:
    kept.declare(TOTALS.replace('verify="off"', 'verify="off", expect=[between("amount", None, 40)]'))
    kept.ask("totals")
    kept.orders((4, 2, 7))
    kept.ask("totals")
    assert kept.upkeep("totals").how == "keyed"
    kept.orders((5, 2, 70))
    kept.ask("totals")
    assert "breaks expectation" in kept.error("totals")


def test_rules_on_the_whole_table_need_the_whole_table(kept: Kept) -> None:
    kept.declare(TOTALS.replace('verify="off"', 'verify="off", expect=[rows(min=1)]'))
    kept.ask("totals")
    kept.orders((4, 2, 7))
    kept.ask("totals")
    assert "judges the whole table" in kept.upkeep("totals").said


def test_the_sentence_of_a_run_is_wherever_people_look(kept: Kept) -> None:
    kept.declare(TOTALS)
    kept.ask("totals")
    first = "everything was computed: it is the first Run"
    with kept.ledger.reading() as tx:
        explained = why(tx, kept.ledger, "main", "totals")
    assert f"Of totals {first}." in [gate.text for gate in explained.gates]
    kept.orders((4, 2, 7))
    kept.ask("totals")
    said = kept.upkeep("totals").said
    with kept.ledger.reading() as tx:
        pond = show(tx, "main", "totals")
        run = show(tx, "main", "totals#2")
        explained = why(tx, kept.ledger, "main", "totals")
        older = show(tx, "main", "totals#1")
    assert isinstance(pond, PondShow)
    assert isinstance(run, RunDetailView)
    assert isinstance(older, RunDetailView)
    assert pond.mode == "auto"
    published = pond.ripples[0].published
    assert published is not None
    assert published.upkeep == run.outputs[0].upkeep
    assert run.outputs[0].upkeep is not None
    assert (run.outputs[0].upkeep.said, run.outputs[0].upkeep.how) == (said, "keyed")
    assert older.outputs[0].upkeep is not None
    assert older.outputs[0].upkeep.said == first
    assert not [gate for gate in explained.gates if "computed" in gate.text]
    assert Written(kept.table("totals")).line.endswith(f": {said}"), "which is what a worker puts into the log"


UDF = """
import pathlib

@F.udf(LongType())
def looked_up(value):
    return int(pathlib.Path(LANDING + ".outside").read_text()) + (value or 0)

@pond(mode="auto", verify={verify!r})
def t(orders):
    return orders.withColumn("found", looked_up("amount"))
"""


def test_a_verification_finds_what_no_plan_shows_publishes_the_whole_and_stays_with_it(kept: Kept) -> None:
    kept.declare(UDF.format(verify="first 2, every 50"))
    outside = kept.path / "landing.outside"
    outside.write_text("100")
    kept.ask("t")
    kept.orders((4, 2, 7))
    kept.ask("t")
    found = kept.upkeep("t")
    assert (found.how, found.is_verified, found.checks) == ("append", True, 1)
    there = {Path(path).parent for path in kept.table("t").paths}
    beside = {place for each in there for place in each.parent.iterdir() if place.is_dir()}
    assert not [place for place in beside if place.name.endswith((".whole", ".keys0"))], (
        "what was compared with is gone"
    )
    outside.write_text("200")
    kept.orders((5, 2, 8))
    kept.ask("t")
    found = kept.upkeep("t")
    assert (found.how, found.is_verified) == ("full", True)
    assert "append gave something else, first for" in found.said
    assert {row[3] - row[2] for row in kept.bag("t")} == {200}, "the full computation is what is published"
    assert len(found.differing) == 8
    with kept.ledger.reading() as tx:
        known = facts(tx, kept.ledger, "main", ("differing",))
    rule = AlertRule(name="oncall", url="https://x", secret="s", on=("differing",))
    (trouble,) = troubles(known, rule)
    assert (trouble.kind, trouble.subject) == ("differing", "t@1")
    assert found.differing[0] in trouble.text
    kept.orders((6, 2, 9))
    kept.ask("t")
    assert "a verification of this code found a difference" in kept.upkeep("t").said
    kept.declare(UDF.format(verify="off").replace("(value or 0)", "(0 + (value or 0))"))
    kept.orders((7, 2, 9))
    kept.ask("t")
    kept.orders((8, 2, 9))
    kept.ask("t")
    assert kept.upkeep("t").how == "append", "new code is tried anew"


def test_a_choice_among_equal_rows_is_no_difference_for_a_verification(kept: Kept) -> None:
    kept.declare(
        """
@pond(mode="auto", verify="always")
def t(orders):
    return orders.dropDuplicates(["customer"])
"""
    )
    kept.ask("t")
    for number in range(4, 7):
        kept.orders((number, number % 3, 7), (number + 10, number % 3, 8))
        kept.ask("t")
        assert (kept.upkeep("t").how, kept.upkeep("t").is_verified) == ("keyed", True)


def test_a_compaction_and_a_vacuum_change_nothing_of_what_is_gone_on_from(kept: Kept) -> None:
    kept.declare(ENRICHED)
    kept.ask("countries")
    for number in range(4, 9):
        kept.orders((number, number % 3, number))
        kept.customers((number % 3, f"c{number}"))
        kept.ask("countries")
        for name in ("orders", "enriched", "countries"):
            compaction.begin(kept.ledger, "main", PondKey(f"{name}@1"))
        while (held := kept.claim()) is not None:
            kept.carry_out(held)
        vacuum(kept.ledger, str(kept.path / "warehouse"))
    whole = kept.bag("enriched")
    expected: Counter[Row] = Counter()
    for row, times in whole.items():
        expected[row[3],] += int(row[2]) * times
    assert {row[0]: row[1] for row in kept.bag("countries")} == {key[0]: value for key, value in expected.items()}
    assert kept.upkeep("countries").how == "keyed"


WHOLE = """
@pond
def enriched_whole(orders, customers):
    return orders.join(customers, "customer", "left")

@pond
def countries_whole(enriched):
    return enriched.groupBy("country").agg(F.sum("amount").alias("amount"), F.count("*").alias("n"))

@pond
def large_whole(enriched):
    return enriched.where("amount > 50").select("id", "country")

@pond
def both(last, enriched_whole, countries_whole, large_whole):
    return last
"""


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_whatever_happens_a_kept_table_is_what_a_full_computation_gives(kept: Kept, seed: int) -> None:
    """Rows come, change and go; workers crash, come back from the dead, fail; tables are put together and cleaned."""
    chance = random.Random(seed)
    kept.declare(ENRICHED + WHOLE)
    made = 10
    for _ in range(6):
        if chance.random() < 0.8:
            made += 3
            kept.orders(*((made + n, chance.choice([None, 1, 2, 3]), chance.randint(0, 99)) for n in range(3)))
        if chance.random() < 0.6:
            changed = chance.sample(range(1, 5), 2)
            kept.customers(*((each, chance.choice(["de", "at"]), chance.random() < 0.3) for each in changed))
        fates = iter([chance.choice(FATES) for _ in range(5)])
        kept.ask("last", fate=lambda given=fates: next(given, "finish"))  # type: ignore[misc]
        if chance.random() < 0.3:
            compaction.begin(kept.ledger, "main", PondKey(f"{chance.choice(['orders', 'enriched'])}@1"))
        if chance.random() < 0.3:
            vacuum(kept.ledger, str(kept.path / "warehouse"))
    kept.ask("both")
    for name in ("enriched", "countries", "large"):
        assert kept.upkeep(name).how in ("append", "keyed", "nothing")
        assert kept.bag(name) == kept.bag(f"{name}_whole"), kept.upkeep(name)
