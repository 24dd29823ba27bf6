"""Publishing to stable names from the outbox."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from pondage.engine.services import outbox as outbox_module
from pondage.engine.services import stable_names as publish_module
from pondage.engine.services.maintenance import Maintenance
from pondage.engine.services.outbox import Outbox
from pondage.engine.services.stable_names import publish
from pondage.engine.supervise.supervisor import Supervisor
from pondage.kernel.demand.events import Tap
from pondage.ledger.commit import guarded
from pondage.ledger.database.driver import LedgerUnavailable, Transaction
from pondage.ledger.kinds.ripple import Written
from pondage.ledger.tables import history
from pondage.ledger.upkeep import retention
from pondage.ledger.upkeep.retention import Published
from tests.engine.plain import engine_config
from tests.ledger.harness import World, content, pond
from tests.patience import PATIENCE_S


class Shop:
    """A Pond that publishes when it is told to, into a real directory."""

    def __init__(self, world: World, path: Path) -> None:
        self.world = world
        self.warehouse = path / "warehouse"
        self.outbox = Outbox(world.ledger, str(self.warehouse))
        self.directory = self.warehouse / "tables" / "main" / "orders" / "v1" / "orders"
        world.deploy(pond("orders"))
        self.worker = world.worker()

    def publish_run(self) -> None:
        self.world.send(Tap(pond="orders@1"))
        held = self.worker.claim()
        assert held is not None
        place = self.warehouse / "data" / "d1" / "r1" / held.claim.token
        place.mkdir(parents=True)
        (place / "part-0.parquet").write_text("rows")
        written = msgspec.structs.replace(content(held), path=str(place))
        assert guarded.commit(self.world.ledger, held, Written(written), process=self.worker.id)
        self.world.clock.time += 1_000_000

    def current(self) -> dict[str, object]:
        shown: dict[str, object] = msgspec.json.decode((self.directory / "CURRENT.json").read_bytes())
        return shown

    def published(self) -> Published:
        with self.world.ledger.reading() as tx:
            found = retention.published(tx, 1)
        assert found is not None
        return found


@pytest.fixture
def shop(world: World, tmp_path: Path) -> Shop:
    return Shop(world, tmp_path)


def test_a_completed_run_gets_its_stable_names(shop: Shop) -> None:
    shop.publish_run()
    shop.outbox.run_once()
    shown = shop.current()
    assert shown["snapshot"] == shop.published().tables[0].snapshot
    assert shown["files"] == [f"{shown['path']}/part-0.parquet"]
    assert shown["schema"]["type"] == "struct"  # type: ignore[index]
    assert (shop.directory / "current" / "part-0.parquet").read_text() == "rows"
    assert not (shop.directory / "current").readlink().is_absolute(), "a moved warehouse keeps its links"
    assert shop.world.one("SELECT count(*) AS n FROM outbox WHERE done_at IS NULL") == 0


def test_doing_it_twice_changes_nothing(shop: Shop) -> None:
    shop.publish_run()
    assert publish(str(shop.warehouse), shop.published()) == [shop.directory / "CURRENT.json"]
    assert publish(str(shop.warehouse), shop.published()) == []


def test_an_older_run_never_replaces_a_newer_one(shop: Shop) -> None:
    shop.publish_run()
    older = shop.published()
    shop.publish_run()
    newer = shop.published()
    publish(str(shop.warehouse), newer)
    assert publish(str(shop.warehouse), older) == []
    assert shop.current()["snapshot"] == newer.tables[0].snapshot


def test_a_row_that_is_carried_out_late_shows_the_run_of_now(shop: Shop) -> None:
    shop.publish_run()
    shop.publish_run()
    shop.outbox.run_once()
    assert shop.current()["run"] == shop.published().run


def test_a_link_that_was_lost_halfway_is_made_again(shop: Shop) -> None:
    shop.publish_run()
    publish(str(shop.warehouse), shop.published())
    (shop.directory / "current").unlink()
    assert publish(str(shop.warehouse), shop.published()) != []
    assert (shop.directory / "current").is_dir()


def test_a_failure_is_recorded_and_tried_again_later_each_time(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.publish_run()

    def full(*given: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(outbox_module, "publish", full)
    shop.outbox.run_once()
    (row,) = shop.world.rows("SELECT attempts, error, available_at, done_at FROM outbox")
    assert (row["attempts"], row["error"], row["done_at"]) == (1, "OSError: no space left on device", None)
    assert row["available_at"] == shop.world.clock.time + 1_000_000
    shop.world.clock.time += 1_000_000
    shop.outbox.run_once()
    assert shop.world.one("SELECT available_at FROM outbox") == shop.world.clock.time + 2_000_000
    monkeypatch.undo()
    shop.world.clock.time += 2_000_000
    shop.outbox.run_once()
    assert shop.world.one("SELECT count(*) AS n FROM outbox WHERE done_at IS NULL") == 0
    assert shop.current()


def test_looking_at_an_empty_outbox_writes_nothing(shop: Shop) -> None:
    before = shop.world.ledger.driver.counts.transactions
    shop.outbox.run_once()
    assert shop.world.ledger.driver.counts.transactions == before


def test_a_row_of_an_unknown_kind_waits_and_says_why(shop: Shop) -> None:
    with shop.world.ledger.transaction() as tx:
        tx.change(
            """INSERT INTO outbox (environment, kind, payload, created_at, available_at)
               VALUES (1, 'telegram', '{}', :now, :now)"""
        )
    shop.outbox.run_once()
    assert "telegram" in str(shop.world.one("SELECT error FROM outbox"))


def test_the_loop_publishes_when_a_run_completes(shop: Shop) -> None:
    passed: queue.Queue[str] = queue.Queue()
    loop = Maintenance([shop.outbox], shop.world.ledger.driver.changes(), on_pass=passed.put)
    loop.start()
    passed.get(timeout=PATIENCE_S)
    shop.publish_run()
    while shop.world.one("SELECT count(*) AS n FROM outbox WHERE done_at IS NULL"):
        passed.get(timeout=PATIENCE_S)
    loop.stop()
    assert shop.current()


def test_a_warehouse_on_another_file_system_has_no_stable_names(shop: Shop) -> None:
    shop.publish_run()
    assert publish("s3a://bucket/warehouse", shop.published()) == []


def test_a_publisher_that_is_frozen_with_the_lock_stops_nobody_else(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by the chaos run "frozen and back": the reaper beside it waited, too, and nobody was found dead."""
    monkeypatch.setattr(publish_module, "LOCK_PATIENCE_S", 0.0)
    shop.publish_run()
    shop.outbox.run_once()
    before = shop.current()
    shop.publish_run()
    with publish_module._locked(shop.directory):
        shop.outbox.run_once()
        assert shop.current() == before, "it is not passed by: it would replace what is newer when it wakes"
    (row,) = shop.world.rows("SELECT attempts, error FROM outbox WHERE done_at IS NULL")
    assert "does not go on" in str(row["error"])
    shop.world.clock.time += 10_000_000
    shop.outbox.run_once()
    assert shop.current() != before


def test_services_that_touch_files_share_no_thread_with_the_reaper(world: World, tmp_path: Path) -> None:
    supervisor = Supervisor(engine_config(tmp_path), world.ledger)
    together = [{service.name for service in each._services} for each in supervisor._maintenance]
    assert [names for names in together if "reaper" in names and names & {"outbox", "sweeper"}] == []


def test_a_ripple_that_is_gone_loses_its_stable_name(shop: Shop) -> None:
    shop.publish_run()
    before = shop.published()
    publish(str(shop.warehouse), before)
    assert (shop.directory / "current").is_symlink()
    other = msgspec.structs.replace(before.tables[0], ripple="daily")
    after = msgspec.structs.replace(before, tables=(other,), order=before.order + 1)
    publish(str(shop.warehouse), after)
    assert list(shop.directory.iterdir()) == []
    assert (shop.directory.parent / "daily" / "CURRENT.json").is_file()
    publish(str(shop.warehouse), before)
    assert (shop.directory.parent / "daily" / "CURRENT.json").is_file(), "an older Run takes nothing away"


@pytest.mark.parametrize("lost", range(6))
def test_a_row_whose_lease_or_end_was_written_and_not_answered_waits_for_nobody(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    shop.publish_run()
    transaction, count = shop.world.ledger.transaction, iter(range(100))

    @contextmanager
    def unanswered() -> Iterator[Transaction]:
        with transaction() as tx:
            yield tx
        if next(count) == lost:
            raise LedgerUnavailable("the connection was cut after the commit")

    monkeypatch.setattr(shop.world.ledger, "transaction", unanswered)
    shop.outbox.run_once()
    assert shop.current()
    with shop.world.ledger.reading() as tx:
        assert tx.rows("SELECT id FROM outbox WHERE done_at IS NULL") == []


def test_an_unanswered_lease_gives_back_the_place_of_those_who_are_told_aside(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = queue.SimpleQueue[str]()
    aside = Outbox(shop.world.ledger, str(shop.warehouse), alert=lambda row: told.put(row.kind), at_once=1)
    with monkeypatch.context() as patched:
        patched.setattr(outbox_module, "PERSIST_S", 0.0)
        patched.setattr(shop.world.ledger, "transaction", _away)
        with shop.world.ledger.driver.transaction() as tx:
            history.put_outbox(tx, environment=1, kind="alert", payload={})
        with pytest.raises(LedgerUnavailable):
            aside.run_once()
    aside.run_once()
    assert told.get(timeout=PATIENCE_S) == "alert"


@contextmanager
def _away() -> Iterator[Transaction]:
    raise LedgerUnavailable("the connection was cut before the database saw anything")
    yield
