"""How far something outside was read: decided once for a Run, and moved by the guarded commit alone."""

from __future__ import annotations

import msgspec
import pytest

from pondage.define.pond.run import Run
from pondage.kernel.demand.events import Force, Tap
from pondage.ledger.commit import guarded
from pondage.ledger.commit.positions import Positions
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import Written
from pondage.ledger.upkeep import pruning
from pondage.ledger.upkeep.thinning import thin
from tests.ledger.harness import SECOND, Worker, World, content, pond


def held(world: World, worker: Worker) -> Work:
    found = worker.claim()
    assert found is not None
    return found


def commit(world: World, worker: Worker, claimed: Work, position: str) -> None:
    written = msgspec.structs.replace(content(claimed), positions={"topic": position})
    assert guarded.commit(world.ledger, claimed, Written(written), process=worker.id)
    world.clock.time += SECOND


def test_whoever_tries_a_run_again_reads_up_to_the_same_place(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    worker = world.worker()
    first = held(world, worker)
    assert Positions(world.ledger, first).decided("topic") is None
    assert Run(freshness_us=0, positions=Positions(world.ledger, first)).read_to("topic", lambda: {"0": 5}) == {"0": 5}
    assert guarded.release(world.ledger, first)
    second = held(world, worker)
    run = Run(freshness_us=0, positions=Positions(world.ledger, second))
    assert run.read_to("topic", lambda: {"0": 9}) == {"0": 5}
    assert dict(run.positions) == {"topic": '{"0": 5}'}
    assert Positions(world.ledger, first).decide("topic", "9") == '{"0": 5}', "a zombie decides nothing"


def test_the_next_run_goes_on_from_the_last_commit_and_decides_anew(world: World) -> None:
    world.deploy(pond("orders"))
    worker = world.worker()
    world.send(Tap(pond="orders@1"))
    first = held(world, worker)
    positions = Positions(world.ledger, first)
    assert positions.position("topic") is None
    positions.decide("topic", "5")
    assert positions.position("topic") is None, "deciding moves nothing"
    commit(world, worker, first, "5")
    world.send(Tap(pond="orders@1"))
    second = Positions(world.ledger, held(world, worker))
    assert (second.position("topic"), second.decided("topic"), second.position("other")) == ("5", None, None)


@pytest.mark.parametrize("mode", ["replace", "append"])
def test_what_a_failed_run_has_read_is_read_again(world: World, mode: str) -> None:
    shape = pond("orders", ripples={"raw": [], "clean": ["raw"]}, always=True)
    world.deploy(msgspec.structs.replace(shape, mode=mode))  # type: ignore[arg-type]
    worker = world.worker()
    world.send(Tap(pond="orders@1"))
    commit(world, worker, held(world, worker), "5")
    assert worker.fail(held(world, worker))
    world.send(Force(pond="orders@1"))
    assert Positions(world.ledger, held(world, worker)).position("topic") is None


def test_decisions_go_with_their_run(world: World) -> None:
    world.deploy(pond("orders"))
    worker = world.worker()
    for number in range(8):
        world.send(Tap(pond="orders@1"))
        claimed = held(world, worker)
        Positions(world.ledger, claimed).decide("topic", str(number))
        commit(world, worker, claimed, str(number))
    world.clock.time += 100 * 86_400 * SECOND
    with world.ledger.transaction() as tx:
        tx.write("UPDATE snapshots SET tombstoned_at = 1, swept_at = 1")
    assert thin(world.ledger) == pruning.prune(world.ledger) == 3
    kept = world.one("SELECT count(*) AS n FROM runs")
    assert world.one("SELECT count(*) AS n FROM decisions") == kept


def test_whoever_is_asked_for_everything_begins_anew(world: World) -> None:
    world.deploy(msgspec.structs.replace(pond("orders"), mode="append"))
    worker = world.worker()
    world.send(Tap(pond="orders@1"))
    commit(world, worker, held(world, worker), "5")
    world.send(Force(pond="orders@1", full=True))
    assert Positions(world.ledger, held(world, worker)).position("topic") is None
