"""What a claim brings of the last probe, and when it brings nothing."""

import msgspec
import pytest

from pondage.define.pond.definition import PondDefinition
from pondage.kernel.demand.events import Force, Pulse
from pondage.kernel.demand.shape import PondKey
from pondage.ledger.commit import guarded
from pondage.ledger.kinds.ripple import RippleTask, Same, Written
from tests.ledger.harness import SECOND, Worker, World, content, pond

ORDERS = PondKey("orders@1")


def probed(definition: PondDefinition, *, probe_digest: str = "p1") -> PondDefinition:
    (ripple,) = definition.ripples
    return msgspec.structs.replace(
        definition, ripples=(msgspec.structs.replace(ripple, has_probe=True, probe_digest=probe_digest),)
    )


@pytest.fixture
def probing(world: World) -> Worker:
    world.deploy(probed(pond("orders")))
    worker = world.worker()
    world.send(Pulse(pond=ORDERS))
    held = worker.claim()
    assert held is not None
    assert isinstance(held.task, RippleTask)
    assert held.task.probe is None, "there is no snapshot yet"
    written = msgspec.structs.replace(content(held), probe="17")
    assert guarded.commit(world.ledger, held, Written(written), process=worker.id)
    world.clock.time += 10 * SECOND
    return worker


def claimed(worker: Worker) -> RippleTask:
    held = worker.claim()
    assert held is not None
    assert isinstance(held.task, RippleTask)
    return held.task


def test_a_claim_brings_what_the_probe_answered_for_the_last_snapshot(world: World, probing: Worker) -> None:
    world.send(Pulse(pond=ORDERS))
    assert claimed(probing).probe == "17"


def test_a_forced_run_reads_whatever_the_probe_says(world: World, probing: Worker) -> None:
    world.send(Force(pond=ORDERS))
    assert claimed(probing).probe is None


@pytest.mark.parametrize(
    "changed", [probed(pond("orders", code="c2")), probed(pond("orders"), probe_digest="p2")], ids=["ripple", "probe"]
)
def test_other_code_reads_whatever_the_probe_says(world: World, probing: Worker, changed: PondDefinition) -> None:
    world.deploy(changed)
    world.send(Pulse(pond=ORDERS))
    assert claimed(probing).probe is None


def test_a_run_that_a_probe_ended_asks_no_sink_to_compute(world: World) -> None:
    world.deploy(probed(pond("orders")), pond("sales", sources={"orders": True}))
    worker = world.worker()
    world.send(Pulse(pond=PondKey("sales@1")))
    assert worker.drain() == ["orders", "sales"]
    world.clock.time += 10 * SECOND
    world.send(Pulse(pond=PondKey("sales@1")))
    held = worker.claim()
    assert held is not None
    assert guarded.commit(world.ledger, held, Same(), process=worker.id)
    assert worker.drain() == []
    assert [state for state, _ in world.runs("sales")] == ["completed", "completed"]
