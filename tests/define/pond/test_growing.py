"""Declaring tables that grow, and what a Run says of followed tables in a unit test."""

from __future__ import annotations

import pytest

from pondage import Pond, Run, pond
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
