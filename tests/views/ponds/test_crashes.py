"""What is said of work that was near a crash, and of processes that have fallen silent."""

from __future__ import annotations

from pondage.cli.printing.ponds import process_text
from pondage.kernel.demand.events import Pulse
from pondage.kernel.demand.shape import PondKey
from pondage.ledger.commit import guarded
from pondage.ledger.kinds.ripple import Same
from pondage.ledger.upkeep import reap
from pondage.views.ponds.gates import GateView
from pondage.views.ponds.status import StatusView, status
from pondage.views.ponds.why import why
from pondage.views.runs.runs import run
from pondage.views.runs.work import work
from tests.ledger.harness import SECOND, Worker, World


def queue_gate(world: World, name: str) -> GateView:
    with world.ledger.reading() as tx:
        return next(each for each in why(tx, world.ledger, "main", name).gates if each.gate == "queue")


def look(world: World) -> StatusView:
    with world.ledger.reading() as tx:
        return status(tx, world.ledger, "main")


def waits(world: World) -> dict[str, str]:
    with world.ledger.reading() as tx:
        return {each.node: each.waits for each in work(tx, world.ledger, "main").work}


def next_text(world: World, key: str) -> str:
    found = look(world).pond(key)
    assert found is not None
    return found.next.text


def crash(world: World, worker: Worker) -> None:
    """The worker dies with everything that it holds."""
    assert reap.reap_process(world.ledger, worker.row, reason="killed") is not None


def died_together(world: World) -> None:
    """One worker held two pieces of work and died: nobody knows which of them took it down."""
    world.send(Pulse(pond=PondKey("orders@1")))
    world.send(Pulse(pond=PondKey("rates@1")))
    worker = world.worker()
    assert worker.claim() is not None
    assert worker.claim() is not None
    crash(world, worker)


def test_what_died_with_others_is_tried_alone_and_has_used_no_crash(world: World) -> None:
    died_together(world)
    world.worker()
    gate = queue_gate(world, "orders")
    assert gate.text == ("orders is tried alone after a crash, 0 of 4 used. It needs a worker that holds nothing else.")
    assert (gate.fields["crashes"], gate.fields["crash_budget"], gate.fields["is_isolated"]) == (0, 4, True)
    assert next_text(world, "orders@1") == "orders is tried alone after a crash, 0 of 4 used"


def test_each_crash_that_was_its_own_counts_and_the_wait_is_told(world: World) -> None:
    died_together(world)
    alone = world.worker()
    assert alone.claim() is not None
    crash(world, alone)
    again = world.worker()
    other = again.claim()
    assert other is not None
    again.finish(other)
    held = again.claim()
    assert held is not None, "it is tried at once after its first crash"
    assert held.claim.node == "orders"
    crash(world, again)
    gate = queue_gate(world, "orders")
    assert gate.text == (
        "orders is tried alone after a crash, 2 of 4 used. It may be taken in 2 s. "
        "It needs a worker that holds nothing else."
    )
    assert waits(world)["orders"] == "it is tried again in 2 s; tried alone after a crash, 2 of 4 used"
    assert next_text(world, "orders@1") == "orders is tried alone after a crash, 2 of 4 used"


def test_a_crash_that_was_certainly_its_own_is_no_reason_to_be_alone(world: World) -> None:
    world.send(Pulse(pond=PondKey("orders@1")))
    worker = world.worker()
    assert worker.claim() is not None
    crash(world, worker)
    assert queue_gate(world, "orders").text == "orders is tried again after a crash, 1 of 4 used."


def test_every_try_of_a_run_is_shown_the_crashed_and_the_released_ones_too(world: World) -> None:
    died_together(world)
    worker = world.worker()
    held = worker.claim()
    assert held is not None
    with world.ledger.transaction() as tx:
        tx.change(
            "UPDATE executions SET outcome = 'released', completed_at = :now WHERE id = :id", id=held.claim.execution
        )
    with world.ledger.reading() as tx:
        view = run(tx, "main", "orders#1")
    (attempt,) = view.attempts
    assert [each.outcome for each in attempt.executions] == ["crashed", "released"]


def test_what_was_never_tried_starts_and_is_not_tried_again(world: World) -> None:
    worker = world.worker()
    for commit in (None, Same()):
        world.send(Pulse(pond=PondKey("orders@1")))
        held = worker.claim()
        assert held is not None
        assert worker.finish(held) if commit is None else guarded.commit(world.ledger, held, commit, process=worker.id)
        world.clock.time += SECOND
    world.send(Pulse(pond=PondKey("orders@1")))
    assert worker.claim() is None, "a probe that found nothing is not asked again at once"
    assert queue_gate(world, "orders").text == "orders starts in 1 s."
    assert next_text(world, "orders@1") == "starts"
    assert waits(world)["orders"] == "it starts in 1 s"


def test_processes_that_are_silent_are_neither_counted_nor_waited_for(world: World) -> None:
    world.worker()
    world.send(Pulse(pond=PondKey("orders@1")))
    assert process_text(look(world)) == "1 process, 0 of 1 slot busy"
    world.clock.time += 13 * SECOND
    assert process_text(look(world)) == "no process of Pondage runs (1 process silent; start: pondage dev)"
    assert next_text(world, "orders@1") == "no process runs: pondage dev"
    with world.ledger.reading() as tx:
        gates = {each.gate: each.text for each in why(tx, world.ledger, "main", "orders").gates}
    assert (
        gates["no process"] == "No process of Pondage runs that could execute anything (1 process of it fell silent)."
    )
    world.worker()
    assert process_text(look(world)) == "1 process, 0 of 1 slot busy, 1 process silent"
    assert [each.is_silent for each in look(world).processes] == [True, False]
