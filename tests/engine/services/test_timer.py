"""The timer makes time pass for the machines."""

from __future__ import annotations

import queue

from pondage.engine.services.maintenance import Maintenance
from pondage.engine.services.timer import Timer
from pondage.kernel.demand.events import Tap
from pondage.ledger.database.driver import number
from pondage.ledger.step.actor import put_event
from pondage.ledger.tables import actors
from tests.ledger.harness import World, pond
from tests.patience import PATIENCE_S


def signal_later(world: World, *, seconds: float) -> None:
    """A trigger that nobody advances: the report of a process that died right after its commit."""
    with world.ledger.transaction() as tx:
        row = tx.row("SELECT id FROM actors")
        assert row is not None
        put_event(tx, actor=number(row, "id"), event=Tap(pond="orders@1"), delay_us=int(seconds * 1e6))


def test_a_stranded_report_is_carried_on(world: World) -> None:
    world.deploy(pond("orders"))
    signal_later(world, seconds=0)
    assert Timer(world.ledger, process=None).run_once() == world.ledger.durability.poll_s
    assert [state for state, _ in world.runs("orders")] == ["running"]


def test_nothing_happens_before_its_time(world: World) -> None:
    world.deploy(pond("orders"))
    signal_later(world, seconds=0.02)
    timer = Timer(world.ledger, process=None)
    assert timer.run_once() == 0.02, "the next pass is due with the next signal"
    assert world.runs("orders") == []
    world.clock.time += 20_000
    timer.run_once()
    assert [state for state, _ in world.runs("orders")] == ["running"]


def test_a_halted_actor_does_not_make_it_spin(world: World) -> None:
    world.deploy(pond("orders"))
    signal_later(world, seconds=0)
    with world.ledger.transaction() as tx:
        row = tx.row("SELECT id FROM actors")
        assert row is not None
        actors.count_error(tx, number(row, "id"), halt_after=1, reason="broken")
    assert Timer(world.ledger, process=None).run_once() == world.ledger.durability.poll_s


def test_the_loop_notices_a_signal_when_it_is_written(world: World) -> None:
    world.deploy(pond("orders"))
    passed: queue.Queue[str] = queue.Queue()
    loop = Maintenance([Timer(world.ledger, process=None)], world.ledger.driver.changes(), on_pass=passed.put)
    loop.start()
    passed.get(timeout=PATIENCE_S)
    signal_later(world, seconds=0)
    while not world.runs("orders"):
        passed.get(timeout=PATIENCE_S)
    loop.stop()
