"""Rows that contradict each other, as a foreign write or a defect would leave them, are found and named."""

from __future__ import annotations

import pytest

from pondage.kernel.demand.events import Force, Kill, Tap
from pondage.ledger.queue import pools
from pondage.ledger.upkeep import health
from tests.ledger.harness import World, pond


@pytest.fixture
def holding(world: World) -> World:
    with world.ledger.transaction() as tx:
        pools.resize(tx, {"narrow": 1})
    world.deploy(pond("orders", pool="narrow"), pond("sales", sources={"orders": True}))
    world.send(Tap(pond="orders@1"))
    assert world.worker().claim() is not None
    return world


def change(world: World, statement: str) -> None:
    with world.ledger.transaction() as tx:
        tx.change(statement)


def stuck(world: World) -> list[tuple[str, str | None]]:
    with world.ledger.reading() as tx:
        return [(each.reason, each.pond) for each in health.stuck_work(tx)]


def test_a_sound_ledger_has_nothing_to_tell(holding: World) -> None:
    with holding.ledger.reading() as tx:
        assert health.leaked_claims(tx) == []
        assert health.stuck_work(tx) == []
        assert health.halted_actors(tx) == []
        assert health.stranded_signals(tx, older_than_us=0) == []
        assert health.newest_time(tx) <= tx.now


@pytest.mark.parametrize("statement", ["UPDATE processes SET dead_at = 1", "DELETE FROM processes"])
def test_a_claim_that_no_reaper_gave_back_is_found_and_begun_anew(holding: World, statement: str) -> None:
    change(holding, statement)
    with holding.ledger.reading() as tx:
        (leaked,) = health.leaked_claims(tx)
    assert (leaked.node, leaked.pond) == ("orders", "orders")
    holding.send(Kill(pond="orders@1"))
    holding.send(Force(pond="orders@1"))
    with holding.ledger.reading() as tx:
        assert health.leaked_claims(tx) == []
    assert "orders" in holding.worker().drain()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE executions SET token = NULL", "it can neither be claimed nor is it claimed"),
        (
            "UPDATE executions SET completed_at = 1, outcome = 'ok'",
            "nothing of it is open though it has not ended",
        ),
    ],
)
def test_work_that_nobody_can_do_is_found(holding: World, statement: str, reason: str) -> None:
    change(holding, statement)
    assert (reason, "orders") in stuck(holding)


def test_what_has_ended_and_holds_something_is_found(holding: World) -> None:
    change(holding, "UPDATE executions SET completed_at = 1, outcome = 'ok'")
    change(holding, "UPDATE dispatches SET outcome = 'ok', closed_at = 1")
    assert stuck(holding) == [("it has ended and still holds a slot of its pool", "orders")]
    change(holding, "UPDATE pool_slots SET execution = NULL")
    change(
        holding,
        "INSERT INTO availabilities (execution, queue, priority, available_at) SELECT id, 1, 1, 1 FROM executions",
    )
    assert stuck(holding) == [("it can be claimed though it has ended", "orders")]


def test_signals_of_an_actor_that_moved_are_stranded_when_nobody_hands_them_on(holding: World) -> None:
    change(
        holding, "INSERT INTO actors (environment, kind, key, moved) SELECT 1, 'catchment', 'gone', min(id) FROM actors"
    )
    change(
        holding,
        "INSERT INTO signals (actor, kind, payload, due_at) SELECT id, 'tap', '{}', 5 FROM actors WHERE key = 'gone'",
    )
    with holding.ledger.reading() as tx:
        assert health.stranded_signals(tx, older_than_us=0) == ["gone"]
        assert health.stranded_signals(tx, older_than_us=tx.now) == []


def test_a_halted_actor_is_named_with_a_pond_of_it(holding: World) -> None:
    change(holding, "UPDATE actors SET halted = 'ValueError: broken'")
    with holding.ledger.reading() as tx:
        assert [(each.pond, each.reason) for each in health.halted_actors(tx)] == [("orders", "ValueError: broken")]
