"""`Scaling`: how many executions one process runs at once and how many processes a machine has for it, counted."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import msgspec
import pytest

from pondage.conform.control_registry import TEST_REGISTRY
from pondage.define.job.component import Scaling
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.executor import Result
from pondage.engine.worker.process import Worker
from pondage.ledger.kinds.component import ComponentEnded
from pondage.ledger.queue.claims import Queue
from tests.engine.plain import PlainExecutor, join_slots, make_worker, sqlite_world
from tests.ledger.harness import World
from tests.ledger.jobs import Jobs, component_result, job
from tests.patience import PATIENCE_S
from tests.services.postgres import wait_until

EACH = """
components:
  - {name: each, type: iterator, params: {parallel: 8}}
  - {name: body, type: transform}
connections:
  data: [each.item -> body.input]
"""
ELEMENTS = 10


class Held:
    """An execution that does what the test says, when it says it."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.may_park, self.may_return, self.may_end = (threading.Event() for _ in range(3))

    def is_parked(self) -> bool:
        return self.attempt.is_parked

    def act(self) -> None:
        assert self.may_park.wait(PATIENCE_S)
        with self.attempt.parked():
            assert self.may_return.wait(PATIENCE_S)
        assert self.may_end.wait(PATIENCE_S)


class Machine:
    """Some workers of one machine; each execution of `body` waits for the test."""

    def __init__(self, world: World, path: Path, *, workers: int, slots: int) -> None:
        self.held: dict[str, Held] = {}
        self.done = 0
        self.workers: list[Worker] = []
        for _ in range(workers):
            executor = PlainExecutor()
            executor.act = self.act
            self.workers.append(make_worker(world, path, executor, slots=slots))

    def act(self, attempt: Attempt) -> Result:
        if attempt.work.claim.node == "each":
            return ComponentEnded(component_result(attempt.work, items=list(range(ELEMENTS))))
        held = self.held[attempt.token] = Held(attempt)
        held.act()
        self.done += 1
        return ComponentEnded(component_result(attempt.work))

    def claim(self) -> None:
        """Let everybody claim until nobody finds anything more."""
        idle_rounds = 0
        while idle_rounds < 2:  # a worker that was busy goes by the queues that it knew once more
            claimed = [worker.claim_one() for worker in self.workers]
            idle_rounds = 0 if True in claimed else idle_rounds + 1
        self.settle()

    def settle(self) -> None:
        """Wait until every execution that was claimed has begun, and every one that may go on has."""
        wait_until(lambda: {one.token for worker in self.workers for one in worker.slots.attempts} == set(self.held))

    def let_go(self) -> None:
        """Let everything that was claimed end, and whatever follows begin."""
        for token, held in list(self.held.items()):
            del self.held[token]
            for event in (held.may_park, held.may_return, held.may_end):
                event.set()
        self.settle()

    def running(self) -> list[int]:
        return [len(worker.slots.running) for worker in self.workers]


@pytest.mark.parametrize("seed", range(8))
def test_limits_hold_for_each_process_and_over_all_whatever_slots_and_iterators_ask(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    concurrency, most = chance.randint(1, 2), chance.randint(1, 3)
    world = sqlite_world(tmp_path)
    limited = msgspec.structs.replace(
        TEST_REGISTRY["transform"], scaling=Scaling(max_concurrency=concurrency, max=most)
    )
    machine = Machine(world, tmp_path, workers=chance.randint(1, 4), slots=chance.randint(1, 4))
    jobs = Jobs(world)
    run = jobs.start(job(EACH, registry={**TEST_REGISTRY, "transform": limited}))
    assert machine.workers[0].claim_one()
    wait_until(lambda: world.one("SELECT count(*) FROM dispatches WHERE node LIKE 'body%'") == 8)
    while machine.done < ELEMENTS:
        machine.claim()
        counts = machine.running()
        assert max(counts) <= concurrency, f"seed {seed}: {counts} run at once"
        at_it = [worker for worker in machine.workers if worker.slots.attempts]
        assert len(at_it) <= most, f"seed {seed}: {len(at_it)} processes are at it"
        assert machine.held, "it goes on"
        token = chance.choice(sorted(machine.held))
        one = machine.held[token]
        if not one.may_park.is_set():
            one.may_park.set()
            wait_until(one.is_parked)
        elif not one.may_return.is_set():
            one.may_return.set()
        elif not one.attempt.is_parked:
            one.may_end.set()
            del machine.held[token]
            machine.settle()
    join_slots()
    assert jobs.row(run).state == "OK"
    world.ledger.close()


def test_what_a_slot_claims_between_a_look_and_a_claim_counts(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    single = msgspec.structs.replace(TEST_REGISTRY["task"], scaling=Scaling(max_concurrency=1))
    two = "components: [{name: a, type: task}, {name: b, type: task}]\n"
    Jobs(world).start(job(two, registry={**TEST_REGISTRY, "task": single}))
    machine = Machine(world, tmp_path, workers=1, slots=2)
    (worker,) = machine.workers
    look = worker._queues_with_work

    def look_slowly(*, is_near: bool) -> list[Queue]:
        found = look(is_near=is_near)
        monkeypatch.setattr(worker, "_queues_with_work", look)
        assert worker.claim_one(), "a slot that is done is quicker"
        return found

    monkeypatch.setattr(worker, "_queues_with_work", look_slowly)
    assert not worker.claim_one()
    machine.settle()
    assert machine.running() == [1]
    machine.let_go()
    machine.claim()
    assert machine.running() == [1], "the other one follows"
    machine.let_go()
    join_slots()
