"""What the ledger keeps and what it lets go: leases, retention, replay."""

from __future__ import annotations

import random

import pytest

from pondage.define.project.durability import Durability
from pondage.kernel.demand.events import Clear, Force, Kill, Pulse, Tap, Wave
from pondage.ledger.commit import guarded
from pondage.ledger.data import past
from pondage.ledger.kinds.ripple import Same, has_snapshot
from pondage.ledger.tables import actors, pins
from pondage.ledger.tables.environments import environment_id
from pondage.ledger.tables.pins import Wanted
from pondage.ledger.upkeep import leases, pruning, retention
from pondage.ledger.upkeep.replay import Replayed, replay
from pondage.ledger.upkeep.thinning import thin
from tests.ledger.harness import SECOND, MakeDriver, World, pond, state

DAY = 86_400 * SECOND


def replayed(world: World) -> Replayed:
    with world.ledger.reading() as tx:
        return replay(tx, world.ledger, environment_id(tx, "main"))


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
    thin(world.ledger)
    assert pruning.prune(world.ledger) == 0, "their files are still there"
    with world.ledger.transaction() as tx:
        tx.change(
            """UPDATE snapshots SET tombstoned_at = 1, swept_at = 1 WHERE id NOT IN
               (SELECT o.snapshot FROM run_outputs o WHERE o.run IN (SELECT id FROM runs ORDER BY id DESC LIMIT 4))"""
        )
    assert pruning.prune(world.ledger, dry_run=True) == 8
    assert pruning.prune(world.ledger) == 8
    assert pruning.prune(world.ledger) == 0
    assert world.one("SELECT count(*) FROM runs") == 4
    with world.ledger.reading() as tx:
        gone = [past.runs_between(tx, pond, since=0, until=tx.now) for pond in tx.rows("SELECT id FROM ponds", int)]
    assert [[run.number for run in runs] for runs in gone] == [[1, 2, 3, 4], [1, 2, 3, 4]]
    assert world.one("SELECT count(*) FROM dispatches") == 4
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
            and has_snapshot(world.ledger, held)
        ):
            guarded.commit(world.ledger, held, Same(), process=worker.id)
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
        actors.edit(tx, row.actor)
        actors.save_state(tx, row.id, row.state.replace('"end_f":1000000000', '"end_f":7'))
    (difference,) = replayed(world).differences
    assert difference.pond == "orders@1"


def test_a_history_whose_beginning_was_pruned_says_so(world: World) -> None:
    world.deploy(pond("orders"))
    with world.ledger.transaction() as tx:
        tx.change("DELETE FROM advancements")
    assert not replayed(world).is_complete


def test_a_pin_made_while_its_snapshots_were_marked_takes_the_mark_back(make_driver: MakeDriver) -> None:
    """On PostgreSQL a Run may begin to read a Source in the moment in which `vacuum` marks its data."""
    world = World(make_driver, durability=Durability(keep_runs=1, retention_days=0))
    world.deploy(pond("orders"), pond("sales", sources={"orders": True}))
    worker = world.worker()
    world.send(Pulse(pond="sales@1"))
    orders = worker.claim()
    assert orders is not None
    worker.finish(orders)
    reading = worker.claim()
    assert reading is not None
    assert reading.claim.node == "sales", "its Run has pinned the Run of orders"
    limits = {"young_us": 0}
    world.clock.time += SECOND
    world.send(Force(pond="orders@1"))
    again = worker.claim()
    assert again is not None
    worker.finish(again)
    world.clock.time += SECOND
    thin(world.ledger)
    with world.ledger.transaction() as tx:
        (first,) = [row["id"] for row in tx.rows("SELECT id FROM snapshots ORDER BY id LIMIT 1")]
        assert isinstance(first, int)
        assert retention.unused(tx, **limits, read=retention.being_read(tx)).snapshots == [], "it is pinned"
        retention.tombstone(tx, [first])
        assert retention.used_again(tx, [first], **limits, read=retention.being_read(tx)) == {first}
        retention.revive(tx, {first})
    assert worker.finish(reading)
    world.clock.time += SECOND
    with world.ledger.reading() as tx:
        assert [each.id for each in retention.unused(tx, **limits, read=retention.being_read(tx)).snapshots] == [
            first
        ], "now nobody needs it"


def test_a_marked_run_is_no_candidate_for_a_pin(make_driver: MakeDriver) -> None:
    world = World(make_driver)
    world.deploy(
        pond("a"),
        pond("b", sources={"a": True}),
        pond("c", sources={"a": True}),
        pond("d", sources={"b": True, "c": True}),
    )
    worker = world.worker()
    for _ in range(3):
        world.send(Pulse(pond="d@1"))
        worker.drain()
    with world.ledger.transaction() as tx:
        row = actors.pond(tx, 1, "b@1")
        assert row is not None
        wanted = Wanted(source=row.key, pond=row.id, is_required=False, not_before=0)
        assert len(pins.offers_of(tx, [wanted], freshness=0, keep=3)[0].candidates) == 3
        tx.change(
            """UPDATE snapshots SET tombstoned_at = 1 WHERE id IN (SELECT snapshot FROM run_outputs
               WHERE run = (SELECT min(id) FROM runs WHERE pond = :pond))""",
            pond=row.id,
        )
        assert len(pins.offers_of(tx, [wanted], freshness=0, keep=3)[0].candidates) == 2


@pytest.mark.parametrize(("reason", "word"), [("TIMEOUT", "timeout"), ("NO_PROGRESS", "progress lease")])
def test_a_lease_that_ran_out_says_which_one_it_was(world: World, reason: leases.Reason, word: str) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    held = world.worker().claim()
    assert held is not None
    claim = held.claim
    with world.ledger.transaction() as tx:
        leases.extend(tx, execution=claim.execution, token=claim.token, for_us=SECOND, reason=reason)
        assert leases.next_expiry(tx) == world.clock.time + SECOND
    world.clock.time += SECOND
    assert leases.expire(world.ledger, process=None) == 1
    error = str(world.one("SELECT error FROM executions"))
    assert f'"code":"{reason}"' in error
    assert word in error
    with world.ledger.reading() as tx:
        assert leases.next_expiry(tx) is None


def test_a_lease_that_was_taken_back_never_runs_out(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    held = world.worker().claim()
    assert held is not None
    with world.ledger.transaction() as tx:
        leases.extend(tx, execution=held.claim.execution, token=held.claim.token, for_us=SECOND)
        leases.extend(tx, execution=held.claim.execution, token=held.claim.token, for_us=None)
    world.clock.time += 10 * SECOND
    assert leases.expire(world.ledger, process=None) == 0
