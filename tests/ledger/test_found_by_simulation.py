"""Defects that the deterministic simulation found, each as the shortest story that shows it."""

from __future__ import annotations

import threading
from unittest.mock import patch

import pytest

from pondage.engine.worker.watch import close_unknown_claims
from pondage.errors import LedgerError
from pondage.kernel.demand.events import Deploy, Pulse, Remove, Tap
from pondage.ledger.database.driver import Transaction
from pondage.ledger.queue import executions, pools
from pondage.ledger.step.actor import put_event
from pondage.ledger.tables import actors
from pondage.ledger.upkeep import leases
from tests.ledger.harness import World, pond
from tests.patience import PATIENCE_S


def test_a_pond_that_is_removed_while_it_runs_takes_its_work_along(world: World) -> None:
    world.deploy(pond("orders"), pond("other"))
    world.send(Tap(pond="orders@1"))
    worker = world.worker()
    held = worker.claim()
    assert held is not None
    world.deploy(removed=("orders@1",))
    assert world.one("SELECT count(*) FROM actors WHERE halted IS NOT NULL OR errors > 0") == 0
    assert world.runs("orders") == [("removed", 1_000_000_000)]
    assert world.rows("SELECT outcome FROM executions") == [{"outcome": "cancelled"}]
    assert not worker.finish(held), "its late commit is fenced"


def test_a_pond_that_ends_a_run_and_is_removed_in_one_step_is_published_first(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    worker = world.worker()
    held = worker.claim()
    assert held is not None
    world.ledger.is_advancing = False  # its report waits as a signal, as when somebody else holds the actor
    assert worker.finish(held)
    world.ledger.is_advancing = True
    world.deploy(removed=("orders@1",))
    assert world.runs("orders") == [("completed", 1_000_000_000)]
    assert world.one("SELECT count(*) FROM signals") == 0


def test_a_pond_that_is_removed_and_deployed_again_in_one_step_is_a_new_one(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    worker = world.worker()
    held = worker.claim()
    assert held is not None
    with world.ledger.transaction() as tx:
        row = tx.row("SELECT actor, definition FROM ponds")
        assert row is not None
        actor, definition = int(str(row["actor"])), str(row["definition"])
        for event in (
            Remove(pond="orders@1"),
            Deploy(pond="orders@1", definition=definition),
            Pulse(pond="orders@1"),
        ):
            put_event(tx, actor=actor, event=event)
    world.pass_time(1)
    assert world.one("SELECT count(*) FROM actors WHERE halted IS NOT NULL OR errors > 0") == 0
    assert [state for state, _ in world.runs("orders")] == ["removed", "running"]
    assert not worker.finish(held)
    assert worker.drain() == ["orders"]
    assert [state for state, _ in world.runs("orders")] == ["removed", "completed"]


def test_a_claim_that_its_process_does_not_know_gives_its_pool_slot_back(world: World) -> None:
    with world.ledger.transaction() as tx:
        pools.resize(tx, {"narrow": 1})
    world.deploy(pond("orders", pool="narrow"))
    world.send(Tap(pond="orders@1"))
    worker = world.worker()
    assert worker.claim() is not None
    assert close_unknown_claims(world.ledger, KnowsNothing(), process=worker.id) == 1  # type: ignore[arg-type]
    assert worker.drain() == ["orders"]


class KnowsNothing:
    """The slots of a process that never heard that its claim was made."""

    def known_tokens(self) -> set[str]:
        return set()


def test_a_lease_that_ran_out_while_its_holder_committed_fails_nothing(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    worker = world.worker()
    held = worker.claim()
    assert held is not None
    with world.ledger.transaction() as tx:
        assert leases.extend(tx, execution=held.claim.execution, token=held.claim.token, for_us=1)
    world.clock.time += 10
    real = executions.held_by

    def held_by(tx: Transaction, process: int) -> list[executions.Held]:
        found = real(tx, process)
        # On PostgreSQL the holder may commit between this look and the closing.
        tx.change("UPDATE executions SET completed_at = :now, outcome = 'ok' WHERE id = :id", id=held.claim.execution)
        return found

    with patch.object(executions, "held_by", held_by):
        assert leases.expire(world.ledger, process=None) == 0
    assert world.one("SELECT count(*) FROM advancements WHERE signals LIKE '%fail%'") == 0
    assert world.one("SELECT count(*) FROM dispatches WHERE outcome = 'failed'") == 0


def test_a_deploy_into_a_halted_catchment_says_so_and_changes_nothing(world: World) -> None:
    world.deploy(pond("orders"))
    with world.ledger.transaction() as tx:
        tx.change("UPDATE actors SET halted = 'a defect'")
    with pytest.raises(LedgerError, match="are halted"):
        world.deploy(pond("sales", sources={"orders": True}))
    assert [row["name"] for row in world.rows("SELECT name FROM ponds")] == ["orders"]


def test_a_deploy_waits_for_whoever_steps_its_catchment(world: World) -> None:
    world.deploy(pond("orders"))
    if world.ledger.driver.dialect == "sqlite":
        return  # its transactions exclude each other anyway
    other = world.open(2)
    began = threading.Event()

    def deploy() -> None:
        began.set()
        world.deploy(pond("sales", sources={"orders": True}))

    thread = threading.Thread(target=deploy)
    with other.transaction() as tx:
        assert actors.lock(tx, 1, is_waiting=True) is not None
        thread.start()
        assert began.wait(PATIENCE_S)
        while not tx.rows("SELECT pid FROM pg_locks WHERE NOT granted"):
            assert thread.is_alive(), "it did not wait"
    thread.join(PATIENCE_S)
    assert [row["name"] for row in world.rows("SELECT name FROM ponds ORDER BY id")] == ["orders", "sales"]
