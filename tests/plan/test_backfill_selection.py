"""Which partitions a backfill means, and how they are cut into chunks."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pondage.define.pond.partition import Partition, PartitionColumn, PartitionDefinition, between
from pondage.errors import PondageError
from pondage.plan.backfill import KnownPartition, Selection, chosen

DAILY = PartitionDefinition(by=(PartitionColumn(column="day"),))
REGIONS = PartitionDefinition(by=(PartitionColumn(column="region"), PartitionColumn(column="at", unit="day")))


def table(*partitions: Partition, older: tuple[Partition, ...] = ()) -> list[KnownPartition]:
    return [KnownPartition(partition=each, is_older_code=each in older) for each in partitions]


def days(*numbers: int) -> list[Partition]:
    return [(f"2026-03-{each:02}",) for each in numbers]


def selected(
    known: list[KnownPartition], definition: PartitionDefinition = DAILY, **asked: Any
) -> list[list[Partition]]:
    failed = asked.pop("of_failed", ())
    return chosen(definition, known, Selection(**asked), failed=failed)


def test_a_range_has_both_of_its_ends_and_days_that_are_not_there_yet() -> None:
    found = selected(table(*days(1, 2, 9)), first="2026-03-02", last="2026-03-04")
    assert found == [[each] for each in days(4, 3, 2)], "the newest first, each day a chunk"
    assert selected(table(*days(1, 2, 9)), first="2026-03-02") == [[each] for each in days(9, 2)]
    assert selected(table(*days(1, 2, 9)), last="2026-03") == [[each] for each in days(9, 2, 1)]
    assert selected(table(*days(1)), first="2026-03-30", last="2026-04", oldest_first=True)[1:3] == [
        [("2026-03-31",)],
        [("2026-04-01",)],
    ]


def test_missing_failed_and_older_code_are_what_they_say() -> None:
    known = table(*days(1, 2, 5), older=tuple(days(2)))
    assert selected(known, missing=True) == [[each] for each in days(4, 3)]
    assert selected(known, missing=True, last="2026-03-03") == [days(3)]
    assert selected(known, older_code=True) == [days(2)]
    assert selected(known, failed=True, of_failed=days(5, 2)) == [[each] for each in days(5, 2)]
    assert selected(known, failed=True, older_code=True, of_failed=days(5, 2)) == [days(2)]
    assert selected(known, everything=True) == [[each] for each in days(5, 2, 1)]


@pytest.mark.parametrize("where", ["region = 'DE'", 'region == "DE"', "region in ['DE'] and day >= '2026-03-01'"])
def test_a_condition_names_columns_and_a_derived_one_by_its_unit(where: str) -> None:
    known = table(("DE", "2026-03-01"), ("US", "2026-03-01"), ("DE", "2026-03-02"))
    assert selected(known, REGIONS, where=where) == [[("DE", "2026-03-02")], [("DE", "2026-03-01")]]


def test_partitions_of_one_day_are_one_chunk() -> None:
    known = table(("DE", "2026-03-01"), ("US", "2026-03-01"), ("DE", "2026-03-02"))
    assert [len(each) for each in selected(known, REGIONS, everything=True)] == [1, 2]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({}, "NOTHING_SELECTED"),
        ({"each": "7d"}, "NOTHING_SELECTED"),
        ({"where": "region ="}, "BAD_WHERE"),
        ({"where": "country == 'DE'"}, "BAD_WHERE"),
        ({"everything": True, "each": "soon"}, "BAD_DURATION"),
        ({"first": "1900-01-01T00", "last": "2026-01-01T00"}, "TOO_MANY"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(asked: dict[str, Any], code: str) -> None:
    with pytest.raises(PondageError) as refused:
        selected(table(*days(1)), **asked)
    assert refused.value.code == code


def test_a_range_of_numbers_is_one_of_numbers() -> None:
    known = table((9,), (10,), (100,))
    assert selected(known, first="10", last="99") == [[(10,)]]
    with pytest.raises(PondageError, match="is none"):
        selected(known, first="2026-03-01")


def test_chunks_are_each_no_longer_than_asked_and_have_every_partition_once() -> None:
    every = [(each,) for each in between("2026-01-01", "2026-12-31")]
    for seed in range(200):
        rng = random.Random(seed)
        known = rng.sample(every, rng.randint(1, 60))
        length, oldest_first = rng.randint(1, 40), rng.random() < 0.5
        by_time = rng.random() < 0.5
        found = selected(
            table(*known), everything=True, each=f"{length}d" if by_time else str(length), oldest_first=oldest_first
        )
        flat = [each for chunk in found for each in chunk]
        assert flat == sorted(known, reverse=not oldest_first), seed
        for chunk in found:
            span = len(between(min(chunk)[0], max(chunk)[0])) if by_time else len(chunk)
            assert 1 <= span <= length, seed
