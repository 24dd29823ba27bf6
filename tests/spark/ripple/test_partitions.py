"""Tables in partitions, on real Spark and real files: what is replaced, what stays, what is refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pondage.define.values.names import PondKey
from pondage.kernel.demand.events import Force
from pondage.ledger.act import compaction, rollback
from pondage.spark.files.layout import Layout
from pondage.spark.session.driver import SparkDriver
from pondage.views.ponds.show import PondShow, show
from tests.spark.ripple.growing_shop import Shop

TRIPS = """
from pondage import Pond, pond
LANDING = {landing!r}

@pond({trips})
def trips(spark, run):
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    return spark.read.schema("id long, day string, at timestamp, city string, fare double").json(LANDING)
"""


class Trips(Shop):
    """trips, and what a test puts behind it."""

    def declare(self, trips: str = 'mode="partition", by=["day"]', behind: str = "") -> None:
        """Deploy the Inlet with these settings, and other Ponds behind it."""
        self.deploy_text(TRIPS.format(landing=str(self.landing), trips=trips) + behind)

    def values(self, name: str = "trips", *columns: str) -> list[tuple[object, ...]]:
        """Some columns of a table, in order."""
        found = [dict(zip(self.names(name), row, strict=True)) for row in self.rows(name)]
        return sorted((tuple(each[column] for column in columns or ("id",)) for each in found), key=str)

    def names(self, name: str) -> list[str]:
        return [field["name"] for field in json.loads(self.table(name).schema)["fields"]]


@pytest.fixture
def shop(tmp_path: Path, driver: SparkDriver, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trips]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "ponds", raising=False)
    monkeypatch.setattr(SparkDriver, "start", lambda *_, **__: driver)
    made = Trips(tmp_path, spark)
    yield made
    made.ledger.close()
    sys.modules.pop("ponds", None)


def trip(identity: int, day: object = "2026-03-01", **more: object) -> dict[str, object]:
    return {"id": identity, "day": day, "fare": 1.0, **more}


def test_a_run_replaces_the_partitions_that_it_returns_and_leaves_the_others(shop: Trips) -> None:
    shop.declare()
    shop.land(trip(1), trip(2), trip(3, "2026-03-02"))
    shop.ask("trips")
    (kept,) = [path for path in shop.table("trips").paths if b"2026-03-02".hex() in path]
    shop.land(trip(4), trip(5, "2026-03-03"))
    before = shop.jobs()
    shop.ask("trips")
    assert shop.jobs() - before <= 2, "the rows are put together by partition and written; nothing is read again"
    assert shop.values("trips", "id", "day") == [(3, "2026-03-02"), (4, "2026-03-01"), (5, "2026-03-03")]
    assert kept in shop.table("trips").paths
    assert all(file.partition is not None for file in shop.table("trips").files)
    assert [row[:2] for row in shop.rows_outside("trips", "*")] == shop.values("trips", "id", "day")


def test_any_value_names_a_partition_and_none_becomes_a_path(shop: Trips) -> None:
    shop.declare('mode="partition", by=["city", "day"], null="own"')
    cities = ["a/b", "day=x", "", "Zürich 雪", "../..", "n", None, "%2F", "A", "a", "x" * 120]
    shop.land(*(trip(number, city=city) for number, city in enumerate(cities)))
    shop.ask("trips")
    assert {file.partition for file in shop.table("trips").files} == {(city, "2026-03-01") for city in cities}
    assert shop.values("trips", "city") == sorted([(city,) for city in cities], key=str)
    shop.land(trip(100, city=None), trip(101, city=""))
    shop.ask("trips")
    left = {each[0] for each in shop.values("trips")}
    assert left == ({*range(len(cities))} - {cities.index(""), cities.index(None)}) | {100, 101}


@pytest.mark.parametrize(
    ("trips", "row", "message"),
    [
        ('mode="partition", by=["day"]', trip(1, None), "day is null in some rows"),
        ('mode="partition", by=["land"]', trip(1), "has no column land"),
        ('mode="partition", by=["fare"]', trip(1), "fare is of type double"),
        ('mode="partition", by=["day:month"]', trip(1), "day is of type string"),
        ('mode="partition", by=["city"]', trip(1, city="x" * 121), "longer than 120 bytes"),
    ],
)
def test_rows_that_belong_to_no_partition_are_refused(
    shop: Trips, trips: str, row: dict[str, object], message: str
) -> None:
    shop.declare(trips)
    shop.land(row)
    shop.ask("trips")
    assert message in shop.error("trips")


@pytest.mark.parametrize(
    ("by", "partition"),
    [
        ("at:year", "2026"),
        ("at:month", "2026-03"),
        ("at:day", "2026-03-28"),
        ("at:hour", "2026-03-28T23"),
        ("at:day:Europe/Berlin", "2026-03-29"),
        ("at:hour:Europe/Berlin", "2026-03-29T00"),
    ],
)
def test_a_partition_is_derived_from_a_moment_in_its_zone(shop: Trips, by: str, partition: str) -> None:
    shop.declare(f'mode="partition", by=["{by}"]')
    shop.land(trip(1, at="2026-03-28T23:30:00Z"), trip(2, at="2025-03-01T00:00:00Z"))
    shop.ask("trips")
    assert (partition,) in {file.partition for file in shop.table("trips").files}


@pytest.mark.parametrize(("late", "left"), [("refuse", [(1,)]), ("quarantine", [(1,), (3,)]), ("ignore", [(1,), (3,)])])
def test_rows_that_come_too_late_are_refused_set_aside_or_left_out(
    shop: Trips, late: str, left: list[tuple[int]]
) -> None:
    shop.declare(f'mode="partition", by=["day"], within="2d", late="{late}"')
    shop.land(trip(1, "1960-01-01"))
    shop.ask("trips")
    assert shop.values("trips") == [(1,)], "a table that begins has no late rows"
    shop.land(trip(2, "1960-01-02"), trip(3, "2200-01-01"))
    shop.ask("trips")
    assert shop.values("trips") == left
    aside = shop.table("trips").set_aside
    assert (0 if aside is None else aside.rows) == int(late == "quarantine")
    assert ("late" in shop.error("trips")) == (late == "refuse")


def test_force_full_begins_the_table_anew(shop: Trips) -> None:
    shop.declare()
    shop.land(trip(1), trip(2, "2026-03-02"))
    shop.ask("trips")
    shop.land(trip(3))
    shop.ask("trips", Force(pond=PondKey("trips@1"), full=True))
    assert shop.values("trips") == [(3,)]


def test_a_table_of_another_mode_or_of_other_partitions_is_cut_anew_once(shop: Trips) -> None:
    shop.declare('mode="append"')
    shop.land(trip(1, city="a"), trip(2, "2026-03-02", city="b"))
    shop.ask("trips")
    shop.declare()
    shop.land(trip(3, city="a"))
    shop.ask("trips")
    assert shop.values("trips") == [(2,), (3,)]
    shop.declare('mode="partition", by=["city"]')
    shop.land(trip(4, city="b"))
    shop.ask("trips")
    assert shop.values("trips") == [(3,), (4,)]
    shop.declare('mode="append"')
    shop.land(trip(5, city="b"))
    shop.ask("trips")
    assert shop.values("trips") == [(3,), (4,), (5,)]


def test_a_rollback_shows_the_older_partitions_and_the_next_run_extends_them(shop: Trips) -> None:
    shop.declare()
    for number in (1, 2):
        shop.land(trip(number), trip(10 + number, f"2026-03-1{number}"))
        shop.ask("trips")
    rollback.roll_back_pond(shop.ledger, "main", PondKey("trips@1"), shop.runs("trips")[0])
    assert shop.values("trips") == [(1,), (11,)]
    shop.land(trip(20, "2026-03-20"))
    shop.ask("trips")
    assert shop.values("trips") == [(1,), (11,), (20,)]


def test_a_compaction_puts_the_files_of_each_partition_together(shop: Trips, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.declare()
    rows = [trip(number, f"2026-03-0{1 + number % 2}") for number in range(40)]
    shop.land(*rows)
    with monkeypatch.context() as torn:
        cut = Layout.cut
        torn.setattr(Layout, "cut", lambda layout, frame: cut(layout, frame).repartition(4, "id"))
        shop.ask("trips")
    assert len(shop.table("trips").files) > 2
    compaction.begin(shop.ledger, "main", PondKey("trips@1"))
    held = shop.claim()
    assert held is not None
    assert shop.carry_out(held)
    assert len(shop.table("trips").files) == 2
    assert shop.values("trips", "id", "day") == sorted(((row["id"], row["day"]) for row in rows), key=str)


def test_a_pond_shows_its_partitions_with_their_runs_and_those_that_are_missing(shop: Trips) -> None:
    shop.declare('mode="partition", by=["day"], expected="daily"')
    shop.land(trip(1), trip(2, "2026-03-04"), trip(3, "2026-03-04"))
    shop.ask("trips")
    shop.declare('mode="partition", by=["day"], expected="daily"')
    shop.land(trip(4, "2026-03-02"))
    shop.ask("trips")
    with shop.ledger.reading() as tx:
        view = show(tx, "main", "trips")
    assert isinstance(view, PondShow)
    assert view.mode == "partition by day"
    partitions = view.ripples[0].partitions
    assert partitions is not None
    assert [each.values for each in partitions.partitions] == [("2026-03-04",), ("2026-03-02",), ("2026-03-01",)]
    assert [each.rows for each in partitions.partitions] == [2, 1, 1]
    assert partitions.missing == ("2026-03-03",)
    newest = {each.values: each.run for each in partitions.partitions}
    assert newest["2026-03-04",] == newest["2026-03-01",] != newest["2026-03-02",] == view.current_run


BEHIND = """
from pyspark.sql import functions as F

@pond(mode="partition", by=["day"])
def good(trips, run):
    return trips.where(run.touched("day")).where("fare > 0")

@pond(mode="partition", by=["day"])
def week(good, run):
    days = good.where(run.touched("day", before="1d")).groupBy("day").agg(F.sum("fare").alias("fare"))
    before = days.select(F.date_add("day", 1).cast("string").alias("day"), F.col("fare").alias("was"))
    return days.join(before, "day", "left").select("day", F.expr("fare + coalesce(was, 0)").alias("fare"))

@pond(mode="append")
def seen(run, trips):
    return run.changes("trips").select("id", "day")
"""


def test_followers_compute_the_partitions_that_were_touched_and_those_behind_them(shop: Trips) -> None:
    shop.declare(behind=BEHIND)
    shop.land(trip(1), trip(2, "2026-03-02"), trip(3, "2026-03-05"))
    shop.ask("seen")
    shop.ask("week")
    assert shop.rows("week") == [("2026-03-01", 1.0), ("2026-03-02", 2.0), ("2026-03-05", 1.0)]
    old = set(shop.table("week").paths)
    # A late correction of the first day, and nothing good is left of it.
    shop.land(trip(4, fare=-1.0))
    shop.ask("week")
    assert shop.values("good") == [(2,), (3,)]
    assert shop.rows("week") == [("2026-03-02", 1.0), ("2026-03-05", 1.0)]
    assert len(old & set(shop.table("week").paths)) == 1, "the day that depends on neither is not written again"
    shop.ask("seen")
    # The same days were replaced with the same rows in between: those came again, but not the first day's old ones.
    assert [row[0] for row in shop.rows("seen")] == [1, 2, 2, 3, 3, 4]


def test_what_was_touched_must_be_partitions_of_the_own_table(shop: Trips) -> None:
    behind = BEHIND.replace('by=["day"])\ndef good', 'by=["city", "at:day"])\ndef good')
    shop.declare(behind=behind)
    shop.land(trip(1, at="2026-03-01T00:00:00Z", city="a"))
    shop.ask("good")
    assert "the partitions of good.good are by city, at:day" in shop.error("good")
    shop.declare(behind=behind.replace('touched("day")', 'touched("day", own="at:day")'))
    shop.ask("good", Force(pond=PondKey("good@1")))
    assert shop.runs("good"), shop.error("good")
    shop.land(trip(2, at="2026-03-01T00:00:00Z", city="b"), trip(3, "2026-03-02", at="2026-03-02T00:00:00Z", city="a"))
    shop.ask("good")
    assert {file.partition for file in shop.table("good").files} == {("b", "2026-03-01"), ("a", "2026-03-02")}


def test_what_was_touched_can_only_be_asked_of_tables_in_such_partitions(shop: Trips) -> None:
    shop.declare(behind=BEHIND.replace('run.touched("day"))', 'run.touched("city", own="day"))'))
    shop.land(trip(1))
    shop.ask("good")
    assert "reads no table in such partitions" in shop.error("good")
