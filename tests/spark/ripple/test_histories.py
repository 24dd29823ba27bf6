"""Histories of dimensions against plain Python, and the newest row of each key."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pondage import helpers
from pondage.errors import DefinitionError

CHANGES = "id bigint, name string, city string, updated_at timestamp, _deleted boolean"
HISTORY = "id bigint, name string, city string, valid_from timestamp, valid_to timestamp, is_current boolean"
Version = tuple[Any, ...]
"""id, name, city, from, to, is current."""


def moment(minutes: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)


def minutes(at: datetime | None) -> int | None:
    """A moment as Spark gives it, in the zone of this process, as minutes."""
    return None if at is None else round((at.astimezone(UTC) - moment(0)).total_seconds() / 60)


def frame(spark: SparkSession, rows: Sequence[Sequence[Any]], schema: str) -> DataFrame:
    return spark.createDataFrame([tuple(row) for row in rows], schema)


def merged(history: dict[tuple[int, int], Version], rows: DataFrame) -> dict[tuple[int, int], Version]:
    """Do what a table that merges by id and valid_from does."""
    found = dict(history)
    seen: set[tuple[int, int]] = set()
    for row in rows.collect():
        start = minutes(row["valid_from"])
        assert start is not None
        key = (row["id"], start)
        assert key not in seen, "a key is there once"
        seen.add(key)
        if "_deleted" in rows.columns and row["_deleted"]:
            del found[key]
        else:
            end = minutes(row["valid_to"])
            found[key] = (row["id"], row["name"], row["city"], start, end, row["is_current"])
    return found


def table_of(spark: SparkSession, history: dict[tuple[int, int], Version]) -> DataFrame:
    rows = [
        (key, name, city, moment(start), None if end is None else moment(end), is_current)
        for key, name, city, start, end, is_current in history.values()
    ]
    return frame(spark, rows, HISTORY)


def past(history: dict[tuple[int, int], Version]) -> dict[tuple[int, int], tuple[Any, Any, bool]]:
    """What a history knows: when each version began, and when one ended. What made no version is forgotten."""
    ends = {(key, end): (name, city, True) for key, name, city, _, end, _ in history.values() if end is not None}
    return ends | {(key, start): (name, city, False) for key, name, city, start, _, _ in history.values()}


def told(events: dict[tuple[int, int], tuple[Any, Any, bool]], compared: slice) -> dict[tuple[int, int], Version]:
    """The history that these changes make, in plain Python: (id, at) to (name, city, deleted)."""
    made: dict[tuple[int, int], Version] = {}
    for identity in {each for each, _ in events}:
        steps: list[tuple[int, tuple[Any, Any, bool]]] = []
        for at in sorted(when for each, when in events if each == identity):
            event = events[identity, at]
            last = steps[-1][1] if steps else None
            if last is not None and (
                (last[2] and event[2]) or (not last[2] and not event[2] and last[compared] == event[compared])
            ):
                continue
            steps.append((at, event))
        for number, (at, (name, city, is_gone)) in enumerate(steps):
            end = steps[number + 1][0] if number + 1 < len(steps) else None
            if not is_gone:
                made[identity, at] = (identity, name, city, at, end, end is None)
    return made


@pytest.mark.parametrize("seed", range(3))
def test_any_sequence_of_late_equal_and_deleting_changes_is_put_where_it_belongs(
    spark: SparkSession, seed: int
) -> None:
    chance = random.Random(seed)
    compare = None if seed % 2 else ["name"]
    history: dict[tuple[int, int], Version] = {}
    expected: dict[tuple[int, int], Version] = {}
    for batch in range(3):
        changes = {
            (chance.randrange(4), chance.randrange(12)): (
                chance.choice(["a", "b", None]), chance.choice(["x", "y"]) if compare is None else "x",
                chance.random() < 0.25,
            )
            for _ in range(chance.randrange(1, 7))
        }  # fmt: skip
        rows = [(key, name, city, moment(at), gone) for (key, at), (name, city, gone) in changes.items()]
        previous = table_of(spark, history) if batch else None
        answered = helpers.scd2(frame(spark, rows, CHANGES), previous, keys=["id"], compare=compare)
        history = merged(history, answered)
        expected = told(past(expected) | changes, slice(0, 2))
        assert history == expected


def test_a_change_that_is_equal_in_what_is_compared_makes_no_version(spark: SparkSession) -> None:
    previous = table_of(spark, {(1, 0): (1, "a", "x", 0, None, True)})
    rows = [(1, "a", "moved", moment(5), False)]
    assert helpers.scd2(frame(spark, rows, CHANGES), previous, keys=["id"], compare=["name"]).count() == 0
    assert helpers.scd2(frame(spark, rows, CHANGES), previous, keys=["id"]).count() == 2


def test_of_two_changes_at_one_moment_always_the_same_is_taken(spark: SparkSession) -> None:
    rows = [(1, "a", "x", moment(0), False), (1, "b", "y", moment(0), False)]
    found = {
        tuple(row)[:3]
        for order in (rows, rows[::-1])
        for row in helpers.scd2(frame(spark, order, CHANGES), None, keys=["id"]).collect()
    }
    assert len(found) == 1


def test_versions_of_keys_without_changes_are_not_written_again(spark: SparkSession) -> None:
    previous = table_of(spark, {(1, 0): (1, "a", "x", 0, None, True), (2, 0): (2, "a", "x", 0, None, True)})
    found = helpers.scd2(frame(spark, [(1, "b", "x", moment(3), False)], CHANGES), previous, keys=["id"]).collect()
    assert {(row["id"], minutes(row["valid_from"]), minutes(row["valid_to"])) for row in found} == {
        (1, 0, 3), (1, 3, None),
    }  # fmt: skip


TABLE = "id bigint, name string, city string"


@pytest.mark.parametrize("hard_deletes", ["close", "keep", "mark"])
@pytest.mark.parametrize("seed", range(1))
def test_any_sequence_of_tables_makes_the_history_of_their_differences(
    spark: SparkSession, seed: int, hard_deletes: helpers.HardDeletes
) -> None:
    chance = random.Random(seed)
    versions: dict[int, list[list[Any]]] = {}
    table: DataFrame | None = None
    for number in range(4):
        at = number * 10
        now = {
            key: (chance.choice(["a", None]), chance.choice(["x", "y"])) for key in range(4) if chance.random() < 0.7
        }
        for key, row in now.items():
            known = versions.setdefault(key, [])
            last = known[-1] if known and known[-1][3] is None else None
            if last is None or tuple(last[:2]) != row or last[4]:
                if last is not None:
                    last[3] = at
                known.append([*row, at, None, False])
        for key, known in versions.items():
            if key not in now and known and known[-1][3] is None:
                if hard_deletes == "close":
                    known[-1][3] = at
                elif hard_deletes == "mark":
                    known[-1][4] = True
        rows = helpers.snapshot(
            frame(spark, [(key, *row) for key, row in now.items()], TABLE), table, ["id"], at=moment(at),
            hard_deletes=hard_deletes,
        )  # fmt: skip
        table = _merged(spark, table, rows)
    assert table is not None
    expected = {
        (key, name, city, start, end, end is None, is_marked)
        for key, known in versions.items()
        for name, city, start, end, is_marked in known
    }
    assert {_seen(row) for row in table.collect()} == expected


def _merged(spark: SparkSession, table: DataFrame | None, rows: DataFrame) -> DataFrame:
    """Merge by id and valid_from, and forget the plan."""
    schema = rows.schema
    found = {} if table is None else {(row["id"], row["valid_from"]): row for row in table.collect()}
    made = rows.collect()
    assert len({(row["id"], row["valid_from"]) for row in made}) == len(made)
    found |= {(row["id"], row["valid_from"]): row for row in made}
    return spark.createDataFrame(list(found.values()), schema)


def _seen(row: Any) -> tuple[Any, ...]:
    marked = row.asDict().get("is_deleted", False)
    return (
        row["id"],
        row["name"],
        row["city"],
        minutes(row["valid_from"]),
        minutes(row["valid_to"]),
        row["is_current"],
        marked,
    )


def test_a_table_that_is_taken_twice_at_one_moment_has_one_version(spark: SparkSession) -> None:
    first = _merged(spark, None, helpers.snapshot(frame(spark, [(1, "a", "x")], TABLE), None, ["id"], at=moment(0)))
    again = helpers.snapshot(frame(spark, [(1, "b", "x")], TABLE), first, ["id"], at=moment(0))
    assert [_seen(row) for row in _merged(spark, first, again).collect()] == [(1, "b", "x", 0, None, True, False)]


def test_the_newest_row_of_each_key_is_whole_with_nulls_as_the_smallest(spark: SparkSession) -> None:
    rows = frame(
        spark, [(1, "a", 1), (1, "b", 3), (1, "c", None), (None, "d", None), (2, None, 2)], "id int, n string, at int"
    )
    found = {tuple(row) for row in helpers.latest(rows, ["id"], "at").collect()}
    assert found == {(1, "b", 3), (None, "d", None), (2, None, 2)}


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (lambda rows: helpers.latest(rows, ["nosuch"], "n"), "NO_SUCH_COLUMN"),
        (lambda rows: helpers.scd2(rows, None, keys=["id"], at="nosuch"), "NO_SUCH_COLUMN"),
        (lambda rows: helpers.scd2(rows, None, keys=["id"], at="n", compare=["nosuch"]), "NO_SUCH_COLUMN"),
        (lambda rows: helpers.snapshot(rows, None, ["id"], at=moment(0), hard_deletes="drop"), "BAD_OPTION"),
        (lambda rows: helpers.latest(rows.withColumnRenamed("n", "m"), ["id"], "n"), "NO_SUCH_COLUMN"),
        (lambda rows: helpers.scd2(rows.selectExpr("id", "n", "1 valid_to"), None, keys=["id"], at="n"), "BAD_OPTION"),
        (lambda rows: helpers.snapshot(rows, None, [], at=moment(0)), "BAD_OPTION"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(spark: SparkSession, wrong: Any, code: str) -> None:
    with pytest.raises(DefinitionError) as told_:
        wrong(frame(spark, [(1, 2)], "id int, n int"))
    assert told_.value.code == code
