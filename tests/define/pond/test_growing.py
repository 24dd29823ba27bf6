"""Declaring tables that grow, and what a Run says of followed tables in a unit test."""

from __future__ import annotations

import pytest

from pondage import Pond, Run, pond
from pondage.define.pond.partition import Unit, around, missing
from pondage.define.pond.verification import Verification
from pondage.errors import DefinitionError, PondageError


def test_a_followed_table_is_a_source_and_a_read_without_a_parameter() -> None:
    @pond(mode="merge", keys=["day"], changes=["orders.raw", "fx"])
    def daily(run: Run, prices: object) -> object: ...

    definition = daily.definition("ponds:daily")
    assert (definition.mode, definition.keys) == ("merge", ("day",))
    assert [source.pond for source in definition.sources] == ["orders", "fx", "prices"]
    reads = {read.parameter: (read.pond, read.ripple, read.by_changes) for read in definition.ripple("daily").reads}
    assert reads == {
        "prices": ("prices", "prices", False),
        "orders.raw": ("orders", "raw", True),
        "fx.fx": ("fx", "fx", True),
    }


def test_a_ripple_follows_a_sibling() -> None:
    shop = Pond("shop", mode="append")

    @shop.ripple
    def raw(spark: object) -> object: ...

    @shop.ripple(changes=["raw"])
    def clean(run: Run) -> object: ...

    ripple = shop.definition("ponds:shop").ripple("clean")
    assert ripple.parents == ("raw",)
    assert ripple.reads[0].parameter == "shop.raw"


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"mode": "merge"}, "without keys="), ({"mode": "append", "keys": ["id"]}, 'with mode="append"')],
)
def test_keys_belong_to_merge(settings: dict[str, object], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        Pond("shop", **settings)  # type: ignore[arg-type]


def test_a_ripple_that_follows_must_ask_for_the_run() -> None:
    @pond(changes=["orders"])
    def daily() -> object: ...

    with pytest.raises(DefinitionError, match="has no parameter `run`"):
        daily.definition("ponds:daily")


def test_in_a_unit_test_the_changes_are_what_is_given() -> None:
    run = Run(freshness_us=0, followed={"orders": "rows"})  # type: ignore[dict-item]
    assert run.is_full
    assert run.changes("orders") == "rows"
    with pytest.raises(PondageError, match="does not read that table") as refused:
        run.changes("fx")
    assert refused.value.code == "NOT_READ"


def test_a_table_in_partitions_says_by_what() -> None:
    shop = Pond("shop", mode="partition", by=["region", "at:day:Europe/Berlin"], within="90d", expected="daily")
    shop.ripple(sold)
    partition = shop.definition("ponds:shop").partition
    assert partition is not None
    assert partition.texts == ("region", "at:day:Europe/Berlin")
    assert (partition.time.column, partition.expected, partition.late) == ("at", "day", "refuse")
    assert partition.oldest(0) == (partition.by[1], "1969-10-03T01:00:00")


def sold(spark: object) -> object: ...


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "partition"}, "with 0 columns"),
        ({"mode": "partition", "by": ["a", "b", "c", "d"]}, "with 4 columns"),
        ({"mode": "partition", "by": ["a", "a"]}, "names a column twice"),
        ({"mode": "partition", "by": [1]}, "takes names of columns"),
        ({"mode": "partition", "by": ["at:week"]}, "by= has 'at:week'"),
        ({"mode": "partition", "by": ["at:day:Mars"]}, "no time zone 'Mars'"),
        ({"mode": "partition", "by": ["day"], "null": "drop"}, "null is 'drop'"),
        ({"mode": "partition", "by": ["day"], "within": "soon"}, "not a duration"),
        ({"mode": "partition", "by": ["day"], "late": "ignore"}, "without within="),
        ({"mode": "partition", "by": ["day"], "within": "9d", "late": "drop"}, "late is 'drop'"),
        ({"mode": "partition", "by": ["day"], "expected": "weekly"}, "expected is 'weekly'"),
        ({"mode": "partition", "by": ["at:month"], "expected": "daily"}, r"by=\['at:month'\]"),
        ({"mode": "append", "by": ["day"]}, 'by= is given with mode="append"'),
        ({"within": "9d"}, 'within= is given with mode="replace"'),
    ],
)
def test_what_does_not_fit_a_table_in_partitions_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        Pond("shop", **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "unit", "gone"),
    [
        (["2026-02-27", "2026-03-02"], "day", ["2026-02-28", "2026-03-01"]),
        (["2025-11", "2026-02", "2026-01"], "month", ["2025-12"]),
        (["2026-03-28T22", "2026-03-29T01"], "hour", ["2026-03-28T23", "2026-03-29T00"]),
        (["2024", "2026"], "year", ["2025"]),
        (["no day", "2026-02-30"], "day", []),
    ],
)
def test_the_values_that_are_missing_in_between_are_known(values: list[str], unit: Unit, gone: list[str]) -> None:
    assert missing(values, unit) == gone


@pytest.mark.parametrize(
    ("value", "before", "after", "found"),
    [
        ("2026-03-01", 1, 0, ["2026-02-28", "2026-03-01"]),
        ("2026-03-01", 0, 2, ["2026-03-01", "2026-03-02", "2026-03-03"]),
        ("2026-03", 6, 0, ["2026-02", "2026-03"]),
        ("2026", 0, 1, ["2026", "2027"]),
        ("berlin", 1, 1, None),
    ],
)
def test_the_neighbours_of_a_partition_are_reckoned_in_time(
    value: str, before: int, after: int, found: list[str] | None
) -> None:
    day = 86_400_000_000
    assert around(value, before_us=before * day, after_us=after * day) == found


def test_in_a_unit_test_what_was_touched_is_what_is_given() -> None:
    assert Run(freshness_us=0, touched="column").touched("day", before="6d") == "column"  # type: ignore[arg-type]
    with pytest.raises(PondageError, match="this run has no past"):
        Run(freshness_us=0).touched("day")


def test_a_table_that_is_kept_up_to_date_is_verified_unless_it_says_otherwise() -> None:
    assert Pond("shop", mode="auto").settings.verify == Verification(first=3, every=50)
    assert Pond("shop", mode="auto", verify="off").settings.verify == Verification()
    assert Pond("shop", mode="auto", verify="always").settings.verify == Verification(every=1)
    assert [each for each in range(1, 110) if Verification(first=3, every=50).is_due(each)] == [1, 2, 3, 50, 100]
    assert not any(Verification().is_due(each) for each in range(1, 110))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "auto", "verify": "sometimes"}, "verify is 'sometimes'"),
        ({"mode": "append", "verify": "off"}, 'verify= is given with mode="append"'),
        ({"mode": "auto", "keys": ["id"]}, 'keys= is given with mode="auto"'),
        ({"mode": "auto", "by": ["day"]}, 'by= is given with mode="auto"'),
    ],
)
def test_what_does_not_belong_to_a_kept_table_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        Pond("shop", **settings)  # type: ignore[arg-type]
    assert message in str(refused.value)
