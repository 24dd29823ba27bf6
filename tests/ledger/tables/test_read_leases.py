"""Read leases: what somebody reads is not vacuumed under him, and goes with his process."""

from __future__ import annotations

import pytest

from pondage.kernel.demand.events import Force
from pondage.ledger.tables import read_leases
from pondage.ledger.tables.read_leases import LINGER_BEATS, ReadLeases
from pondage.ledger.upkeep import reap, retention
from pondage.ledger.upkeep.thinning import thin
from tests.ledger.harness import SECOND, World, pond

DAY = 86_400 * SECOND


@pytest.fixture
def old(world: World) -> World:
    """A Pond with ten Runs, the oldest long out of retention; its leases are beaten by the test."""
    world.ledger.leases = leases(world)
    world.deploy(pond("orders", always=True))
    worker = world.worker()
    for _ in range(10):
        world.send(Force(pond="orders@1"))
        worker.drain()
    world.clock.time += 40 * DAY
    return world


def leases(world: World) -> ReadLeases:
    return ReadLeases(world.ledger.transaction, every_s=5.0, lasts_s=60.0, pause=lambda _: True)


def doomed(world: World) -> set[int]:
    thin(world.ledger)
    with world.ledger.reading() as tx:
        found = retention.unused(tx, young_us=DAY, read=retention.being_read(tx)).snapshots
    return {each.id for each in found}


def test_what_is_read_is_not_vacuumed_and_goes_some_time_after_its_reader(old: World) -> None:
    first = min(doomed(old))
    with old.ledger.leases.reading([first]):
        assert first not in doomed(old)
        for _ in range(3 * LINGER_BEATS):
            old.clock.time += 5 * SECOND
            old.ledger.leases.beat()
        assert first not in doomed(old)
    assert first not in doomed(old), "who asks again finds it"
    for _ in range(LINGER_BEATS):
        old.ledger.leases.beat()
    assert first in doomed(old)
    assert old.rows("SELECT * FROM read_leases") == []


def test_a_second_reader_of_the_same_writes_nothing(old: World) -> None:
    with old.ledger.leases.reading([1, 2]):
        before = old.ledger.driver.counts.transactions
        with old.ledger.leases.reading([2]):
            pass
        assert old.ledger.driver.counts.transactions == before
        with old.ledger.leases.reading([3]):
            assert old.rows("SELECT snapshots FROM read_leases") == [{"snapshots": "[1,2,3]"}]


def test_the_lease_of_a_dead_process_is_reaped(old: World) -> None:
    first = min(doomed(old))
    with old.ledger.leases.reading([first]):
        old.clock.time += 59 * SECOND
        reap.reap_stale(old.ledger, process=None)
        assert first not in doomed(old)
        old.clock.time += 2 * SECOND
        assert first in doomed(old), "nobody beats for it"
        reap.reap_stale(old.ledger, process=None)
        assert old.rows("SELECT * FROM read_leases") == []
        old.ledger.leases.beat()
        assert first not in doomed(old), "it was only taken for dead"


def test_what_is_held_outlives_its_process(old: World) -> None:
    first = min(doomed(old))
    with old.ledger.transaction() as tx:
        read_leases.hold(tx, "me", [first], for_us=3_600 * SECOND)
    old.ledger.leases.close()
    old.clock.time += 3_599 * SECOND
    reap.reap_stale(old.ledger, process=None)
    assert first not in doomed(old)
    old.clock.time += 2 * SECOND
    reap.reap_stale(old.ledger, process=None)
    assert first in doomed(old)
    assert old.rows("SELECT * FROM read_leases") == []


def test_a_closed_ledger_has_no_lease(old: World) -> None:
    with old.ledger.leases.reading([1]):
        pass
    old.ledger.leases.close()
    assert old.rows("SELECT * FROM read_leases") == []
