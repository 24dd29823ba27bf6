"""From a trigger to published data, on a real file with a fake clock."""

from __future__ import annotations

import msgspec

from pondage.kernel.demand.events import Clear, Force, Kill, Pulse, Tap, Wave
from pondage.ledger.commit import guarded
from pondage.ledger.data import snapshots
from pondage.ledger.kinds.ripple import RippleTask, Same
from pondage.ledger.tables import history
from tests.ledger.harness import SECOND, World, pond, state


def chain() -> list:
    return [pond("orders"), pond("sales", sources={"orders": True}), pond("reports", sources={"sales": True})]


def test_a_pulse_runs_every_pond_once_from_the_inlet_down(world: World) -> None:
    world.deploy(*chain())
    world.send(Pulse(pond="reports@1"))
    assert world.worker().drain() == ["orders", "sales", "reports"]
    freshness = 1_000 * SECOND
    assert [world.runs(name) for name in ("orders", "sales", "reports")] == [[("completed", freshness)]] * 3


def test_nothing_is_visible_before_the_run_completes(world: World) -> None:
    world.deploy(pond("sales", ripples={"clean": [], "total": ["clean"]}))
    world.send(Tap(pond="sales@1"))
    worker = world.worker()
    held = worker.claim()
    assert held is not None
    worker.finish(held)
    with world.ledger.reading() as tx:
        assert snapshots.current_run(tx, 1) is None
    held = worker.claim()
    assert held is not None
    assert isinstance(held.task, RippleTask)
    assert held.task.inputs["clean"] is not None
    worker.finish(held)
    with world.ledger.reading() as tx:
        run = snapshots.current_run(tx, 1)
        assert run is not None
        assert set(snapshots.outputs(tx, run)) == {"clean", "total"}


def test_a_hop_costs_two_transactions(world: World) -> None:
    world.deploy(*chain())
    world.send(Pulse(pond="reports@1"))
    worker = world.worker()
    queues = worker.queues()
    before = world.ledger.driver.counts.transactions
    from pondage.ledger.commit import work

    for _ in range(3):
        held = work.claim_work(
            world.ledger, process=worker.id, queues=queues, token=world.ledger.ids.new("t"), is_alone=True
        )
        assert held is not None
        assert worker.finish(held)
    assert world.ledger.driver.counts.transactions - before == 6


def test_a_run_reads_the_runs_it_pinned_even_when_newer_ones_complete(world: World) -> None:
    world.deploy(pond("orders"), pond("sales", sources={"orders": True}))
    worker = world.worker()
    world.send(Pulse(pond="sales@1"))
    held = worker.claim()
    assert held is not None
    worker.finish(held)
    first = held.claim.token
    reading = worker.claim()
    assert reading is not None
    world.clock.time += SECOND
    world.send(Tap(pond="orders@1"))
    newer = worker.claim(is_alone=False)
    assert newer is not None
    assert newer.claim.node == "orders"
    worker.finish(newer)
    assert isinstance(reading.task, RippleTask)
    assert reading.task.inputs["orders"] is not None
    assert first in reading.task.inputs["orders"].path


def test_equal_code_and_inputs_are_not_executed_again(world: World) -> None:
    world.deploy(pond("orders"), pond("sales", sources={"orders": True}), pond("top", sources={"sales": True}))
    worker = world.worker()
    world.send(Pulse(pond="top@1"))
    assert worker.drain() == ["orders", "sales", "top"]
    # The Inlet says that nothing changed: everything below is answered without an execution.
    world.clock.time += SECOND
    world.send(Pulse(pond="top@1"))
    held = worker.claim()
    assert held is not None

    assert guarded.commit(world.ledger, held, Same(), process=worker.id)
    assert worker.claim() is None
    assert [len(world.runs(name)) for name in ("orders", "sales", "top")] == [2, 2, 2]
    assert world.runs("top")[-1] == ("completed", world.runs("orders")[-1][1])
    assert world.one("SELECT count(*) FROM snapshots") == 3


def test_a_forced_run_executes_although_nothing_changed(world: World) -> None:
    world.deploy(*chain())
    worker = world.worker()
    world.send(Pulse(pond="reports@1"))
    worker.drain()
    world.send(Force(pond="sales@1"))
    assert worker.drain() == ["sales"]


def test_changed_code_runs_when_somebody_wants_it_and_not_before(world: World) -> None:
    world.deploy(*chain())
    worker = world.worker()
    world.send(Pulse(pond="reports@1"))
    worker.drain()
    world.deploy(pond("sales", sources={"orders": True}, code="c2"), archive=b"b")
    assert worker.claim() is None
    world.send(Pulse(pond="reports@1"))
    assert worker.drain() == ["orders", "sales", "reports"]


def test_a_failed_ripple_keeps_the_last_good_data_and_blocks_the_sinks(world: World) -> None:
    world.deploy(*chain())
    worker = world.worker()
    world.send(Pulse(pond="reports@1"))
    worker.drain()
    world.clock.time += SECOND
    world.send(Pulse(pond="reports@1"))
    held = worker.claim()
    assert held is not None
    worker.finish(held)
    held = worker.claim()
    assert held is not None
    assert worker.fail(held)
    assert [row[0] for row in world.runs("sales")] == ["completed", "failed"]
    assert state(world, "sales@1")["is_failed"]
    assert state(world, "reports@1")["is_blocked"]
    error = world.one("SELECT error FROM runs WHERE state = 'failed'")
    assert msgspec.json.decode(str(error))["code"] == "BOOM"
    world.send(Clear(pond="sales@1"))
    assert worker.drain() == ["sales", "reports"]


def test_a_killed_ponds_late_commit_is_fenced(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    worker = world.worker()
    held = worker.claim()
    assert held is not None
    world.send(Kill(pond="orders@1"))
    assert not worker.finish(held)
    assert world.one("SELECT count(*) FROM snapshots") == 0
    assert world.runs("orders") == [("killed", 1_000 * SECOND)]


def test_a_wave_over_quiet_inlets_probes_once_a_second_instead_of_spinning(world: World) -> None:
    world.deploy(pond("orders"), pond("sales", sources={"orders": True}))
    worker = world.worker()
    world.send(Wave(pond="sales@1"))
    assert worker.claim() is not None
    held = world.worker().claim()
    assert held is None

    world.send(Kill(pond="orders@1"))
    world.send(Clear(pond="orders@1"))
    world.send(Wave(pond="sales@1"))
    first = worker.claim()
    assert first is not None
    worker.finish(first)
    world.clock.time += SECOND
    probed = 0
    for _ in range(20):
        held = worker.claim()
        if held is None:
            break
        if held.claim.node == "orders":
            probed += 1
            guarded.commit(world.ledger, held, Same(), process=worker.id)
        else:
            worker.finish(held)
        world.clock.time += 1
    assert probed < 5


def test_a_published_run_leaves_an_outbox_row(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    world.worker().drain()
    with world.ledger.transaction() as tx:
        row = history.next_outbox(tx)
        assert row is not None
        assert row.kind == "publish"
        history.lease_outbox(tx, row, lease_us=SECOND)
        assert history.next_outbox(tx) is None
    world.clock.time += 2 * SECOND
    with world.ledger.transaction() as tx:
        again = history.next_outbox(tx)
        assert again is not None
        assert again.attempts == 1
        history.outbox_done(tx, again.id)
    with world.ledger.transaction() as tx:
        assert history.next_outbox(tx) is None
