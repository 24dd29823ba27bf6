"""Pools limit what runs at once over the whole deployment; labels and pools never block other work."""

from __future__ import annotations

import pytest

from pondage.errors import LedgerError
from pondage.kernel.demand.events import Kill, Tap
from pondage.ledger.commit import guarded
from pondage.ledger.queue import pools
from pondage.ledger.upkeep import reap
from tests.ledger.harness import Worker, World, pond


@pytest.fixture
def limited(world: World) -> World:
    """Three Ponds of a pool with two slots, and one without a pool."""
    with world.ledger.transaction() as tx:
        pools.resize(tx, {"api": 2})
    world.deploy(*[pond(f"p{n}", pool="api") for n in range(3)], pond("free"))
    for name in ("p0", "p1", "p2", "free"):
        world.send(Tap(pond=f"{name}@1"))
    return world


def claimed(worker: Worker) -> str | None:
    held = worker.claim(is_alone=False)
    return None if held is None else held.claim.node


def test_a_full_pool_is_passed_over_and_blocks_nobody(limited: World) -> None:
    workers = [limited.worker() for _ in range(4)]
    assert [claimed(worker) for worker in workers] == ["p0", "p1", "free", None]


@pytest.mark.parametrize("ending", ["written", "failed", "released", "crashed", "abandoned", "cancelled"])
def test_every_close_frees_the_slot(limited: World, ending: str) -> None:
    worker, other = limited.worker(), limited.worker()
    held = worker.claim()
    assert held is not None
    assert claimed(other) == "p1"
    assert claimed(other) == "free"
    assert claimed(other) is None
    match ending:
        case "written":
            assert worker.finish(held)
        case "failed":
            assert worker.fail(held)
        case "released":
            assert guarded.release(limited.ledger, held)
        case "crashed":
            assert reap.reap_process(limited.ledger, worker.row, reason="gone") is not None
        case "abandoned":
            assert reap.abandon(limited.ledger, process=worker.id, tokens=[held.claim.token]) == 1
        case "cancelled":
            limited.send(Kill(pond="p0@1"))
    with limited.ledger.reading() as tx:
        taken = "SELECT count(*) AS taken FROM pool_slots WHERE pool = 'api' AND execution IS NOT NULL"
        assert tx.one(taken, int) == 1
    assert limited.worker().claim() is not None


def test_a_pool_that_shrinks_loses_slots_as_they_are_freed(limited: World) -> None:
    worker = limited.worker()
    first, second = worker.claim(), worker.claim(is_alone=False)
    assert first is not None
    assert second is not None
    with limited.ledger.transaction() as tx:
        pools.resize(tx, {"api": 1})
    assert claimed(worker) == "free"
    assert worker.finish(second)
    assert claimed(worker) is None, "one slot is left, and it is taken"
    assert worker.finish(first)
    assert claimed(worker) == "p2"


def test_work_with_labels_waits_for_a_process_that_has_them(world: World) -> None:
    world.deploy(pond("gpu", labels=("gpu", "big")), pond("plain"))
    world.send(Tap(pond="gpu@1"))
    world.send(Tap(pond="plain@1"))
    assert world.worker(labels=frozenset({"gpu"})).drain() == ["plain"]
    assert world.worker(labels=frozenset({"gpu", "big", "more"})).drain() == ["gpu"]


def test_a_pond_of_a_pool_that_nobody_declared_is_refused(world: World) -> None:
    with pytest.raises(LedgerError, match="nobody has declared"):
        world.deploy(pond("orders", pool="api"))
    assert world.rows("SELECT name FROM ponds") == []
