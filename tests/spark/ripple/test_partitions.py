"""Tables in partitions, on real Spark and real files: what is replaced, what stays, what is refused."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import DataFrame, SparkSession

from pondage.define.pond.definition import RippleDefinition
from pondage.define.pond.partition import PartitionColumn, PartitionDefinition
from pondage.define.pond.run import Run
from pondage.define.values.names import PondKey
from pondage.engine.services.vacuum import vacuum
from pondage.kernel.demand.events import Force
from pondage.ledger.act import compaction, rollback
from pondage.ledger.data import manifests, snapshots
from pondage.spark.files.layout import Layout
from pondage.spark.files.partition_index import MOST_PARTITIONS, read_by_partition
from pondage.spark.files.read import read_snapshot
from pondage.spark.files.write import write_files
from pondage.spark.query.diff import compare
from pondage.spark.ripple.partition import Cut
from pondage.spark.ripple.ripple import RippleWork
from pondage.spark.ripple.trial import infer_schemas
from pondage.spark.session.driver import SparkDriver
from pondage.views.ponds.show import PondShow, show
from pondage.work.snapshot import Increment
from tests.spark.ripple.growing_shop import Fate, Shop

SEQUENCES = int(os.environ.get("PONDAGE_PARTITIONS_ON_SPARK", "1"))

TRIPS = """
from pondage import Pond, pond, unique
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

    def output(self, pond: str, ripple: str) -> list[tuple[object, ...]]:
        """The rows of one Ripple of a Pond of several."""
        run = self.runs(pond)[-1]
        with self.ledger.reading() as tx:
            given = snapshots.outputs(tx, run)[ripple].snapshot
            content = snapshots.load(tx, [given])[given].content
        return sorted(tuple(row) for row in read_snapshot(self.spark, content).collect())

    def is_there(self, run: int) -> bool:
        """Whether the data of a Run can still be shown."""
        with self.ledger.reading() as tx:
            return manifests.is_whole(tx, [each.snapshot for each in snapshots.outputs(tx, run).values()])

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
    current = json.loads((shop.stable("trips") / "CURRENT.json").read_text())
    assert current["by"] == ["day"]
    assert sorted(current["partitions"]) == [["2026-03-01"], ["2026-03-02"], ["2026-03-03"]]


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


def test_a_plan_that_infers_types_finds_a_partition_column_that_is_not_there(spark: SparkSession) -> None:
    def trips(spark: SparkSession) -> DataFrame:
        return spark.range(1)

    definition = PartitionDefinition(by=(PartitionColumn(column="day"),))
    ripple = RippleDefinition(name="trips", injects=("spark",))
    work = RippleWork(
        pond="trips", ripple=ripple, function=trips, inputs={}, run=Run(freshness_us=0), destination="",
        cut=Cut(definition=definition),
    )  # fmt: skip
    (found,) = infer_schemas(spark, [("trips", work, {})], known={})
    assert (found.code, found.problem) == (
        "BAD_PARTITION", "trips.trips has no column day, which its partitions are made by"
    )  # fmt: skip


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


@pytest.mark.parametrize(("columns", "is_refused"), [('"id"', True), ('"id", "day"', False)])
def test_unique_judges_the_table_unless_the_key_has_the_partition_columns(
    shop: Trips, columns: str, is_refused: bool
) -> None:
    shop.declare(f'mode="partition", by=["day"], expect=[unique({columns})]')
    shop.land(trip(1), trip(2, "2026-03-02"))
    shop.ask("trips")
    shop.land(trip(2))
    shop.ask("trips", Force(pond=PondKey("trips@1")))
    assert ("breaks expectation unique(id)" in shop.error("trips")) == is_refused
    # What is replaced does not count.
    shop.land(trip(2, "2026-03-02"), trip(3, "2026-03-02"))
    shop.ask("trips", Force(pond=PondKey("trips@1")))
    assert shop.values("trips") == ([(1,), (2,), (3,)] if is_refused else [(2,), (2,), (3,)])


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


def test_a_filter_opens_only_the_files_of_its_partitions(shop: Trips) -> None:
    shop.declare('mode="partition", by=["day", "city"], null="own"')
    cities = ["a/b", "", None, "Zürich"]
    shop.land(*(trip(number, f"2026-03-0{1 + number // 4}", city=cities[number % 4]) for number in range(8)))
    shop.ask("trips")
    table = shop.table("trips")
    kept = {(2,): ("2026-03-01", None), (4,): ("2026-03-02", "a/b"), (5,): ("2026-03-02", "")}
    for file, path in zip(table.files, table.paths, strict=True):
        if file.partition not in kept.values():
            Path(path.removeprefix("file:")).write_bytes(b"no parquet")
    frame = read_snapshot(shop.spark, table)
    assert frame.columns == shop.names("trips")
    before = shop.jobs()
    read_snapshot(shop.spark, table)
    assert shop.jobs() == before, "to tell Spark the partitions is no job"
    assert [row.id for row in frame.where("day = '2026-03-02' and city = 'a/b'").collect()] == [4]
    assert [row.id for row in frame.where("day = '2026-03-02' and city = ''").collect()] == [5]
    assert [row.id for row in frame.where("day < '2026-03-02' and city is null").collect()] == [2]
    some = read_snapshot(shop.spark, table, columns=["id", "city"])
    assert [row.id for row in some.where("city in ('') and id > 3").where("city is null").collect()] == []
    monkey = msgspec.structs.replace(table, files=table.files[:1] * (MOST_PARTITIONS + 1))
    assert read_by_partition(shop.spark, monkey, frame.schema) is not None, "one directory is one partition"


def test_numbers_dates_and_booleans_are_pruned_by_what_they_are(shop: Trips, tmp_path: Path) -> None:
    by = (PartitionColumn(column="n"), PartitionColumn(column="d"), PartitionColumn(column="b"))
    rows = shop.spark.sql(
        "SELECT * FROM VALUES (1L, DATE'2026-03-01', true), (-2L, DATE'1969-12-31', false) AS t(n, d, b)"
    )
    written = write_files(rows, str(tmp_path / "typed"), layout=Layout.decide(rows.schema, by)).as_content()
    assert {file.partition for file in written.files} == {(1, "2026-03-01", True), (-2, "1969-12-31", False)}
    table = msgspec.structs.replace(written, increment=Increment(by=("n", "d", "b")))
    frame = read_by_partition(shop.spark, table, rows.schema)
    assert frame is not None
    assert sorted(frame.collect()) == sorted(rows.collect())
    for condition in ("n = -2", "d < '1970-01-01'", "not b"):
        assert [row.n for row in frame.where(condition).collect()] == [-2]


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


MART = """
from pondage import Pond

mart = Pond("mart", mode="partition", by=["day"])
mart.source("trips")

@mart.ripple(reads={"trips": "trips.trips"})
def paid(trips, run):
    return trips.where(run.touched("day")).where("fare > 0")

@mart.ripple
def daily(paid, run):
    return paid.where(run.touched("day")).groupBy("day").count()

by_city = Pond("by_city", mode="partition", by=["city"])
by_city.source("trips")
by_city.sql("by_city", "by_city.sql", reads={"trips": "trips.trips"})
"""


def test_every_ripple_of_a_larger_pond_and_one_in_sql_is_in_partitions(shop: Trips) -> None:
    project = shop.path / "project"
    project.mkdir(exist_ok=True)
    (project / "by_city.sql").write_text("SELECT city, count(*) AS n FROM trips GROUP BY city")
    shop.declare(behind=MART)
    shop.land(trip(1, city="a"), trip(2, "2026-03-02", city="b"))
    shop.ask("mart")
    shop.land(trip(3, city="b"), trip(4, city="a", fare=-1.0))
    assert shop.ask("mart") == ["trips", "paid", "daily"]
    (day, other) = shop.output("mart", "daily")
    assert (day, other) == (("2026-03-01", 1), ("2026-03-02", 1))
    shop.ask("by_city")
    assert shop.rows("by_city") == [("a", 1), ("b", 2)]
    assert {file.partition for file in shop.table("by_city").files} == {("a",), ("b",)}


def test_a_query_of_today_and_as_of_then_sees_the_table_of_one_run(shop: Trips) -> None:
    shop.declare()
    shop.land(trip(1), trip(2, "2026-03-02"))
    shop.ask("trips")
    older = shop.runs("trips")[-1]
    shop.land(trip(3))
    shop.ask("trips")
    with shop.ledger.reading() as tx:
        (then,) = snapshots.load(tx, [each.snapshot for each in snapshots.outputs(tx, older).values()]).values()
    assert sorted(row.id for row in read_snapshot(shop.spark, then.content).collect()) == [1, 2]
    found = compare(shop.spark, "trips", then.content, shop.table("trips"), keys=("id",), limit=10)
    assert (found.added, found.removed, found.changed) == (1, 1, 0)


def weeks(good: dict[str, float]) -> list[tuple[object, ...]]:
    """What `week` makes of the fares of each day."""
    yesterday = {day: (date.fromisoformat(day) - timedelta(days=1)).isoformat() for day in good}
    return sorted((day, fare + good.get(yesterday[day], 0.0)) for day, fare in good.items())


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_partitions_on_spark_equal_those_computed_from_scratch(shop: Trips, seed: int) -> None:
    chance = random.Random(seed)
    shop.declare(behind=BEHIND)
    days: dict[str, list[float]] = {}
    past: dict[int, dict[str, list[float]]] = {}
    fates: list[Fate] = ["finish", "crash", "zombie"]
    for _ in range(5):
        match chance.choice(["batch", "batch", "rollback", "full", "compact", "vacuum"]):
            case "rollback" if len(past) > 1:
                older = list(past)[-2]
                if shop.is_there(older):
                    rollback.roll_back_pond(shop.ledger, "main", PondKey("trips@1"), older)
                    days = past[shop.runs("trips")[-1]] = past[older]
            case "full" if shop.runs("good"):
                shop.ask("good", Force(pond=PondKey("good@1"), full=True))
            case "compact" if shop.runs("week"):
                compaction.begin(shop.ledger, "main", PondKey(f"{chance.choice(['trips', 'good', 'week'])}@1"))
            case "vacuum":
                vacuum(shop.ledger, str(shop.path / "warehouse"))
        changed = {
            f"2026-03-0{chance.randint(1, 6)}": [float(chance.randint(-2, 5)) for _ in range(2)] for _ in range(2)
        }
        shop.land(*(trip(0, when, fare=fare) for when, some in changed.items() for fare in some))
        shop.ask("week", fate=lambda: chance.choices(fates, [10, 1, 1])[0])
        days = past[shop.runs("trips")[-1]] = days | changed
        good = {when: [fare for fare in some if fare > 0] for when, some in days.items()}
        assert sorted(shop.values("trips", "day", "fare")) == sorted(
            (when, fare) for when, some in days.items() for fare in some
        )
        assert shop.rows("week") == weeks({when: sum(some) for when, some in good.items() if some})


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
