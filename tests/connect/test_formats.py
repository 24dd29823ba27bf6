"""Every format passes one suite; what is special to one follows it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from pondage import Delta, Iceberg, Pond
from pondage.connect.iceberg import iceberg_schema
from pondage.errors import PondageError
from pondage.ledger.upkeep import health
from tests.connect.conformance import *  # noqa: F403 - the suite
from tests.connect.conformance import ONE, TWO, values
from tests.connect.market import Market
from tests.ledger.harness import World


@pytest.mark.parametrize(("kind", "module"), [("delta", "deltalake"), ("iceberg", "pyiceberg")])
def test_a_missing_package_is_named_with_its_extra_and_does_not_hide_the_stable_names(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, module: str
) -> None:
    market = Market(world, tmp_path, kind)
    market.commit(ONE)
    with monkeypatch.context() as patched:
        for name in [name for name in sys.modules if name.split(".")[0] == module]:
            patched.delitem(sys.modules, name)
        patched.setattr(sys, "meta_path", [_Missing(module), *sys.meta_path])
        market.outbox.run_once()
    (row,) = world.rows("SELECT error FROM outbox WHERE done_at IS NULL")
    assert f"pondage[{kind}]" in str(row["error"])
    with world.ledger.reading() as tx:
        assert f"pondage[{kind}]" in health.failing_outbox(tx)[0], "the doctor knows it"
    assert (market.directory / "CURRENT.json").exists()
    world.clock.time += 60_000_000
    market.outbox.run_once()
    market.expect_carried_out()
    assert len(market.reader().versions()) == 1


class _Missing:
    """An import system that lacks one package."""

    def __init__(self, module: str) -> None:
        self._module = module

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.split(".")[0] == self._module:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_publish_is_declared_with_a_pond_and_checked() -> None:
    shop = Pond("shop", publish=[Delta(), Iceberg(ripples=["daily"])])
    shop.ripple(_named("daily"))
    kinds = [(each.kind, each.ripples) for each in shop.definition("ponds:shop").publish]
    assert kinds == [("delta", ()), ("iceberg", ("daily",))]
    for wrong in ([Delta(), Delta()], "delta", [Iceberg], 3):
        with pytest.raises(PondageError, match="publish="):
            Pond("shop", publish=wrong)  # type: ignore[arg-type]
    other = Pond("other", publish=Delta(ripples=["nothing"]))
    other.ripple(_named("daily"))
    with pytest.raises(PondageError, match="nothing"):
        other.definition("ponds:other")


def _named(name: str) -> object:
    def function(spark: object) -> object:
        return spark

    function.__name__ = name
    return function


def test_a_type_that_iceberg_does_not_have_is_named() -> None:
    schema = '{"type":"struct","fields":[{"name":"a","type":"interval day to second","nullable":true,"metadata":{}}]}'
    with pytest.raises(PondageError, match="interval"):
        iceberg_schema(schema)


with_files_of_their_own = pytest.mark.parametrize("market", ["delta", "iceberg"], indirect=True)


@with_files_of_their_own
def test_versions_stay_readable_when_the_snapshots_they_came_from_are_gone(market: Market) -> None:
    market.publish(ONE)
    market.publish(TWO)
    shutil.rmtree(market.warehouse / "data")
    assert [values(market.reader().rows(version)) for version in range(2)] == [[1, 2], [3]]


@with_files_of_their_own
def test_files_that_no_kept_version_needs_are_removed(market: Market, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pondage.define.values.keep.Keep.all_us", -1_000_000)
    for table in (ONE, TWO, ONE, TWO):
        market.publish(table)
    places = {each.parent.name for each in market.directory.rglob("*.snappy.parquet") if "current" not in each.parts}
    assert len(places) == 2, "the current files, and those that left the table just now"
    assert values(market.reader().rows()) == [3]
