"""Chunks of backfills on real Spark: what is computed again, what stays, and what the author's code learns of it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pondage.define.pond.partition import Partition
from pondage.kernel.demand.events import Pulse
from pondage.ledger.act import backfills
from pondage.ledger.tables.backfills import by_public_id
from tests.spark.ripple import test_partitions
from tests.spark.ripple.test_partitions import Trips, trip

shop = test_partitions.shop

DAILY = """
@pond(mode="partition", by=["day"])
def daily(trips, run):
    {seen}
    return trips.where({touched}).groupBy("day").sum("fare").withColumnRenamed("sum(fare)", "fare")
"""
FIRST, SECOND, THIRD = "2026-03-01", "2026-03-02", "2026-03-03"


def backfill(shop: Trips, name: str, *chunks: Sequence[str]) -> str:
    """Compute days again, and answer how that went."""
    partitions: list[list[Partition]] = [[(each,) for each in chunk] for chunk in chunks]
    public_id = backfills.start(shop.ledger, "main", f"{name}@1", chunks=partitions)
    while (held := shop.claim()) is not None:
        shop.carry_out(held)
    with shop.ledger.reading() as tx:
        found = by_public_id(tx, 1, public_id)
        assert found is not None
        return found.state


def chunk_error(shop: Trips) -> str:
    with shop.ledger.reading() as tx:
        return tx.one("SELECT error FROM chunks WHERE error IS NOT NULL ORDER BY id DESC LIMIT 1", str)


def test_only_the_partitions_of_the_chunk_are_replaced_whatever_is_returned(shop: Trips) -> None:
    shop.declare()
    shop.land(trip(1), trip(2, SECOND), trip(3, THIRD))
    shop.ask("trips")
    shop.land(trip(11), trip(12, SECOND), trip(14, "2026-03-04"))
    assert backfill(shop, "trips", [SECOND, THIRD]) == "completed"
    assert shop.values("trips", "id", "day") == [(1, FIRST), (12, SECOND)]
    assert [row[:2] for row in shop.rows_outside("trips", "*")] == shop.values("trips", "id", "day")
    shop.ask("trips")
    assert shop.values("trips", "id", "day") == [(11, FIRST), (12, SECOND), (14, "2026-03-04")]


def test_a_follower_computes_the_days_of_its_chunk_from_the_whole_table_and_still_follows(shop: Trips) -> None:
    seen = "assert run.chunk is None or (run.is_full and run.chunk.values('day') == ('2026-03-01',))"
    shop.declare(behind=DAILY.format(touched='run.touched("day")', seen=seen))
    shop.land(trip(1), trip(2, SECOND))
    shop.ask("daily")
    shop.land(trip(3), trip(4), trip(5, SECOND, fare=7.0))
    shop.ask("trips")
    assert backfill(shop, "daily", [FIRST]) == "completed"
    assert shop.values("daily", "day", "fare") == [(FIRST, 2.0), (SECOND, 1.0)], "the other day stays as it was"
    shop.ask("daily")
    assert shop.values("daily", "day", "fare") == [(FIRST, 2.0), (SECOND, 7.0)], "what it followed was not taken in"
    shop.ask("daily", Pulse(pond="daily@1"))  # type: ignore[arg-type]


def test_a_widened_window_reads_the_days_before_the_chunk_and_replaces_the_chunk_alone(shop: Trips) -> None:
    wide = """
@pond(mode="partition", by=["day"])
def daily(trips, run):
    from pyspark.sql import functions as F
    days = trips.where(run.touched("day", before="1d")).groupBy("day").agg(F.sum("fare").alias("fare"))
    before = days.select(F.date_add("day", 1).cast("string").alias("day"), F.col("fare").alias("more"))
    total = F.col("fare") + F.coalesce("more", F.lit(0.0))
    return days.join(before, "day", "left").select("day", total.alias("fare"))
"""
    shop.declare(behind=wide)
    shop.land(trip(1), trip(2, SECOND), trip(3, THIRD))
    shop.ask("daily")
    expected = [(FIRST, 1.0), (SECOND, 2.0), (THIRD, 2.0)]
    assert shop.values("daily", "day", "fare") == expected
    assert backfill(shop, "daily", [THIRD], [SECOND]) == "completed"
    assert shop.values("daily", "day", "fare") == expected


def test_changes_are_the_whole_table_less_what_its_columns_show_to_be_of_other_days(shop: Trips) -> None:
    follower = """
@pond(mode="partition", by=["day"], changes=["trips"])
def kept(run):
    rows = run.changes("trips")
    if run.chunk is not None:
        assert {row.day for row in rows.select("day").distinct().collect()} == {"2026-03-02"}
    return rows

@pond(mode="partition", by=["on"], changes=["trips"])
def renamed(run):
    return run.changes("trips").withColumnRenamed("day", "on")
"""
    shop.declare(behind=follower)
    shop.land(trip(1), trip(2, SECOND))
    shop.ask("kept")
    shop.ask("renamed")
    assert backfill(shop, "kept", [SECOND]) == "completed"
    assert backfill(shop, "renamed", [SECOND]) == "completed"
    assert shop.values("kept", "id", "day") == [(1, FIRST), (2, SECOND)]
    assert shop.values("renamed", "id", "on") == [(1, FIRST), (2, SECOND)]


def test_what_is_too_late_for_a_run_is_not_for_who_asks_for_it(shop: Trips) -> None:
    shop.declare('mode="partition", by=["day"], within="1d"')
    shop.land(trip(1, "2020-01-01"))
    shop.ask("trips")  # a table that begins has no late rows
    shop.land(trip(2, "2020-01-01"))
    shop.ask("trips")
    assert shop.values("trips", "id") == [(1,)]
    assert backfill(shop, "trips", ["2020-01-01"]) == "completed"
    assert shop.values("trips", "id") == [(2,)]


def test_a_position_is_not_moved_by_a_chunk(shop: Trips) -> None:
    reading = """
@pond(mode="partition", by=["day"])
def numbers(spark, run):
    from pyspark.sql import functions as F
    if run.chunk is not None and {branches}:
        return spark.range(100, 101).select("id", F.lit(run.chunk.values("day")[0]).alias("day"))
    last = run.read_to("n", lambda: (run.position("n") or 0) + 1)
    return spark.range(last, last + 1).select("id", F.concat(F.lit("2026-03-0"), F.col("id")).alias("day"))
"""
    for branches in (False, True):
        shop.declare(behind=reading.format(branches=branches))
        shop.ask("numbers")
        if not branches:
            assert backfill(shop, "numbers", [FIRST]) == "failed"
            assert "branch on `run.chunk`" in chunk_error(shop) or "reads nothing on" in chunk_error(shop)
    assert shop.values("numbers", "id", "day") == [(1, FIRST), (2, SECOND)]
    assert backfill(shop, "numbers", [FIRST]) == "completed"
    assert shop.values("numbers", "id", "day") == [(100, FIRST), (2, SECOND)]
    shop.ask("numbers")
    assert (3, THIRD) in shop.values("numbers", "id", "day")


def test_every_file_that_the_table_took_is_read_again_and_none_is_taken_twice(shop: Trips) -> None:
    folder = shop.path / "files"
    files = f"""
@pond(mode="partition", by=["day"])
def rides(spark, run):
    from pondage import sources
    return sources.files(spark, run, {str(folder)!r}, schema="id bigint, fare double", folders=True)
"""
    shop.declare(behind=files)
    for number, day in enumerate((FIRST, SECOND)):
        (folder / f"day={day}").mkdir(parents=True)
        (folder / f"day={day}" / "a.json").write_text(json.dumps({"id": number, "fare": 1.0}) + "\n")
        shop.ask("rides")
    (folder / f"day={FIRST}" / "late.json").write_text(json.dumps({"id": 7, "fare": 1.0}) + "\n")
    assert backfill(shop, "rides", [FIRST, SECOND]) == "completed"
    assert shop.values("rides", "id", "day") == [(0, FIRST), (1, SECOND)], "what was not taken yet is for the next Run"
    assert shop.ask("rides") == ["rides"]
    assert shop.values("rides", "id", "day") == [(1, SECOND), (7, FIRST)]
    assert backfill(shop, "rides", [FIRST]) == "completed"
    assert shop.values("rides", "id", "day") == [(0, FIRST), (1, SECOND), (7, FIRST)]
    (folder / f"day={SECOND}" / "a.json").unlink()
    assert backfill(shop, "rides", [FIRST]) == "completed", "a folder of another day says that its files are not needed"
    assert backfill(shop, "rides", [SECOND]) == "failed"
    assert "are not in" in chunk_error(shop)
    assert shop.values("rides", "id", "day") == [(0, FIRST), (1, SECOND), (7, FIRST)]


def test_all_ripples_of_a_pond_compute_the_chunk_and_a_new_one_all_of_it(shop: Trips) -> None:
    two = """
from pondage import Pond
both = Pond("both", mode="partition", by=["day"])
both.source("trips")
@both.ripple
def clean(trips):
    return trips.select("id", "day")
{more}
"""
    shop.declare(behind=two.format(more=""))
    shop.land(trip(1), trip(2, SECOND))
    shop.ask("both")
    shop.declare(behind=two.format(more="@both.ripple\ndef late(clean):\n    return clean\n"))
    shop.land(trip(3), trip(4, SECOND))
    shop.ask("trips")
    assert backfill(shop, "both", [FIRST]) == "completed"
    assert [each[0] for each in shop.output("both", "clean")] == [2, 3]
    assert [each[0] for each in shop.output("both", "late")] == [2, 3]
