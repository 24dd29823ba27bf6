"""What the ledger keeps and what it lets go: leases, retention, replay."""

from __future__ import annotations

import random

import pytest

from pondage.define.durability import Durability
from pondage.kernel.demand.events import Clear, Force, Kill, Pulse, Tap, Wave
from pondage.ledger import actors, leases, pruning, verbs, work
from pondage.ledger.replay import Replayed, replay
from tests.ledger.harness import SECOND, MakeDriver, World, pond, state

DAY = 86_400 * SECOND


def replayed(world: World) -> Replayed:
    with world.ledger.reading() as tx:
        return replay(tx, world.ledger, verbs.environment_id(tx, "main"))


def test_an_execution_whose_lease_ran_out_fails_and_its_late_commit_is_fenced(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    worker = world.worker()
    held = worker.claim()
    assert held is not None
    with world.ledger.transaction() as tx:
        assert leases.extend(tx, execution=held.claim.execution, token=held.claim.token, for_us=10 * SECOND)
    world.clock.time += 9 * SECOND
    assert leases.expire(world.ledger, process=None) == 0
    world.clock.time += SECOND
    assert leases.expire(world.ledger, process=None) == 1
    assert leases.expire(world.ledger, process=None) == 0
    assert state(world, "orders@1")["is_failed"]
    assert not worker.finish(held)
    with world.ledger.transaction() as tx:
        assert not leases.extend(tx, execution=held.claim.execution, token=held.claim.token, for_us=SECOND)
    world.send(Clear(pond="orders@1"))
    world.send(Tap(pond="orders@1"))
    assert worker.drain() == ["orders"]


def test_old_runs_leave_in_batches_and_a_summary_of_each_stays(make_driver: MakeDriver) -> None:
    world = World(make_driver, durability=Durability(keep_runs=2, retention_days=1))
    world.deploy(pond("orders"), pond("sales", sources={"orders": True}))
    worker = world.worker()
    for _ in range(6):
        world.send(Pulse(pond="sales@1"))
        worker.drain()
    world.clock.time += 2 * DAY
    assert pruning.prune(world.ledger) == 0, "their files are still there"
    with world.ledger.transaction() as tx:
        tx.change(
            """UPDATE snapshots SET tombstoned_at = 1, swept_at = 1 WHERE id NOT IN
               (SELECT o.snapshot FROM run_outputs o WHERE o.run IN (SELECT id FROM runs ORDER BY id DESC LIMIT 4))"""
        )
    assert pruning.prune(world.ledger) == 6
    assert pruning.prune(world.ledger) == 0
    assert world.one("SELECT count(*) FROM runs") == 6
    assert world.one("SELECT count(*) FROM history WHERE kind = 'run'") == 6
    assert world.one("SELECT count(*) FROM dispatches") == 6
    world.send(Pulse(pond="sales@1"))
    assert worker.drain() == ["orders", "sales"]


@pytest.mark.parametrize("seed", range(10))
def test_the_recorded_history_replays_to_the_stored_states(world: World, seed: int) -> None:
    rng = random.Random(seed)
    world.deploy(
        pond("a"),
        pond("b", sources={"a": True}, ripples={"x": [], "b": ["x"]}),
        pond("c", sources={"a": True, "b": False}),
        pond("alone"),
    )
    worker = world.worker()
    for turn in range(40):
        key = rng.choice(["a@1", "b@1", "c@1", "alone@1"])
        world.send(rng.choice([Tap, Pulse, Wave, Clear, Kill, Force])(pond=key))
        held = worker.claim()
        if held is not None and rng.random() < 0.2:
            worker.fail(held)
        elif (
            held is not None
            and rng.random() < 0.2
            and held.claim.node in "a alone"
            and work.has_snapshot(world.ledger, held)
        ):
            work.commit_unchanged(world.ledger, held, process=worker.id)
        elif held is not None:
            worker.finish(held)
        world.pass_time(rng.random())
        if turn == 20:
            world.deploy(pond("b", sources={"a": True}, code="c2"), pond("d", sources={"c": True, "alone": True}))
    found = replayed(world)
    assert found.is_complete
    assert found.advancements > 40
    assert found.differences == ()


def test_a_foreign_write_is_found_by_the_replay(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    world.worker().drain()
    with world.ledger.transaction() as tx:
        row = actors.pond(tx, 1, "orders@1")
        assert row is not None
        actors.save_state(tx, row.id, row.state.replace('"end_f":1000000000', '"end_f":7'))
    (difference,) = replayed(world).differences
    assert difference.pond == "orders@1"


def test_a_history_whose_beginning_was_pruned_says_so(world: World) -> None:
    world.deploy(pond("orders"))
    with world.ledger.transaction() as tx:
        tx.change("DELETE FROM advancements")
    assert not replayed(world).is_complete
