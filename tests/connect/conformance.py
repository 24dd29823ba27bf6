"""What every format must keep. `market` is a fixture of whoever runs these: a Pond that publishes in one format."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pyarrow as pa
import pytest

from pondage.connect import tables
from pondage.engine.services import outbox as outbox_module
from pondage.ledger.act import rollback
from pondage.ledger.tables.environments import resolve_pond
from tests.connect.market import Market

ONE = pa.table({"n": pa.array([1, 2], pa.int32())})
TWO = pa.table({"n": pa.array([3], pa.int32())})
GROWN = pa.table({"n": pa.array([4, None], pa.int64()), "name": ["a", "b"]})
EMPTY = ONE.slice(0, 0)


class Death(BaseException):
    """The publishing process dies here; nothing may catch it."""


def values(rows: list[dict[str, object]]) -> list[object]:
    return [row["n"] for row in rows]


def test_readers_see_what_was_published(market: Market) -> None:
    market.publish(ONE)
    assert values(market.reader().rows()) == [1, 2]
    market.publish(TWO)
    assert values(market.reader().rows()) == [3]


def test_an_older_version_can_be_read_as_of_then(market: Market) -> None:
    for table in (ONE, TWO, GROWN):
        market.publish(table)
    reader = market.reader()
    assert [values(reader.rows(version)) for version in range(3)] == [[1, 2], [3], [4, None]]


def test_a_schema_may_grow_and_a_type_may_widen(market: Market) -> None:
    market.publish(ONE)
    assert market.reader().columns() == ["n"]
    market.publish(GROWN)
    assert market.reader().columns() == ["n", "name"]
    assert market.reader().rows() == [{"n": 4, "name": "a"}, {"n": None, "name": "b"}]


def test_a_version_with_fewer_columns_shows_no_more_of_them(market: Market) -> None:
    wide = ONE.append_column("name", pa.array(["a", "b"]))
    market.publish(wide)
    market.publish(TWO)
    assert market.reader().columns() == ["n"], "in no format is it there, and all null"
    assert market.reader().rows() == [{"n": 3}]
    assert market.reader().rows(0) == [{"n": 1, "name": "a"}, {"n": 2, "name": "b"}]
    market.publish(wide)
    assert market.reader().columns() == ["n", "name"]
    assert market.reader().rows() == [{"n": 1, "name": "a"}, {"n": 2, "name": "b"}]


def test_an_empty_table_is_a_version_too(market: Market) -> None:
    market.publish(EMPTY)
    assert market.reader().rows() == []
    market.publish(ONE)
    market.publish(EMPTY)
    assert market.reader().rows() == []
    assert market.reader().versions() == market.snapshots()


def test_runs_that_complete_before_anybody_publishes_are_versions_of_their_own(market: Market) -> None:
    market.publish(ONE)
    market.commit(TWO)
    market.commit(GROWN)
    market.outbox.run_once()
    market.expect_carried_out()
    assert market.reader().versions() == market.snapshots()
    assert values(market.reader().rows(1)) == [3]


def test_a_run_that_changed_nothing_is_no_version(market: Market) -> None:
    market.publish(ONE)
    market.publish(None)
    market.publish(None)
    assert len(market.reader().versions()) == 1


def before(monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object) -> None:
        raise Death

    monkeypatch.setattr(outbox_module, "publish", die)


def with_its_files_linked(monkeypatch: pytest.MonkeyPatch) -> None:
    original = tables._linked

    def die(*given: object) -> None:
        original(*given)  # type: ignore[arg-type]
        raise Death

    monkeypatch.setattr(tables, "_linked", die)


def after(monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object) -> None:
        raise Death

    monkeypatch.setattr("pondage.ledger.tables.history.outbox_done", die)


@pytest.mark.parametrize("point", [before, with_its_files_linked, after])
def test_a_crash_between_commit_and_publication_neither_skips_nor_doubles_a_version(
    market: Market, monkeypatch: pytest.MonkeyPatch, point: Callable[[pytest.MonkeyPatch], None]
) -> None:
    market.publish(ONE)
    market.commit(TWO)
    market.commit(GROWN)
    for _ in range(3):
        with monkeypatch.context() as patched:
            point(patched)
            died = False
            try:
                market.outbox.run_once()
            except Death:
                died = True
        # Stable names are replaced without a link of their own, so there is one point less at which to die.
        assert died or (market.kind == "parquet" and point is with_its_files_linked)
        market.world.clock.time += 61_000_000
    market.outbox.run_once()
    market.expect_carried_out()
    assert market.reader().versions() == market.snapshots()
    assert [values(market.reader().rows(version)) for version in range(3)] == [[1, 2], [3], [4, None]]


def test_two_that_publish_at_once_make_no_version_twice(market: Market) -> None:
    market.publish(ONE)
    market.commit(TWO)
    market.commit(GROWN)
    market.world.rows("SELECT 1 AS n")
    publishers = [market.new_outbox()._formats for _ in range(3)]
    problems: list[BaseException] = []

    def publish(position: int) -> None:
        try:
            publishers[position].publish(1)
        except BaseException as error:  # noqa: BLE001 - shown by the test
            problems.append(error)

    threads = [threading.Thread(target=publish, args=(position,)) for position in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    market.outbox.run_once()
    assert market.reader().versions() == market.snapshots()


def test_going_back_is_a_new_version_and_what_comes_after_it_one_more(market: Market) -> None:
    market.publish(ONE)
    market.publish(TWO)
    first = int(str(market.world.one("SELECT min(id) AS id FROM runs")))
    with market.world.ledger.reading() as tx:
        key = resolve_pond(tx, 1, "orders")
    rollback.roll_back_pond(market.world.ledger, "main", key, first)
    market.outbox.run_once()
    market.expect_carried_out()
    assert values(market.reader().rows()) == [1, 2]
    market.publish(GROWN)
    one, two, three = market.snapshots()
    assert values(market.reader().rows()) == [4, None]
    if market.kind != "parquet":
        assert market.reader().versions() == [one, two, one, three]
