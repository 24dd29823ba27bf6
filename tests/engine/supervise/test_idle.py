"""What a deployment costs while nobody asks for anything: statements are counted, and none of them writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pondage.engine.supervise.supervisor import Supervisor
from pondage.engine.supervise.upkeep import upkeep
from pondage.engine.worker.process import Worker
from pondage.kernel.demand.events import Pulse
from tests.engine.plain import PlainExecutor, engine_config, join_slots, make_worker, sqlite_world
from tests.ledger.harness import World, pond


class Idle:
    """A supervisor with its services, and a worker, that are asked to look once by the test alone."""

    def __init__(self, path: Path, ponds: int) -> None:
        path.mkdir()
        self.world: World = sqlite_world(path)
        self.world.deploy(*(pond(f"pond_{number}") for number in range(ponds)))
        self.world.send(Pulse(pond="pond_0@1"))
        self.executor = PlainExecutor()
        self.worker: Worker = make_worker(self.world, path, self.executor)
        assert self.worker.claim_one()
        join_slots()
        assert not self.worker.claim_one()
        self.supervisor = Supervisor(engine_config(path), self.world.ledger, say=lambda line: None)
        # The sweeper comes once an hour.
        kept = upkeep(engine_config(path), self.world.ledger, process=self.supervisor._process)
        services = [each for group in kept for each in group]
        self.services = [each for each in services if each.name != "sweeper"]
        # What the last Run still has to tell the outside.
        with self.world.ledger.transaction() as tx:
            tx.change("UPDATE outbox SET done_at = 1")

    def counts(self) -> tuple[int, int, int]:
        """Transactions that write, that read, and statements of one look of everybody."""
        counts = self.world.ledger.driver.counts
        before = counts.transactions, counts.reads, counts.statements
        self.supervisor.tick()
        for service in self.services:
            service.run_once()
        assert not self.worker.claim_one()
        after = counts.transactions, counts.reads, counts.statements
        return after[0] - before[0], after[1] - before[1], after[2] - before[2]


def test_a_thousand_idle_ponds_cost_what_one_costs(tmp_path: Path) -> None:
    one, thousand = Idle(tmp_path / "one", 1), Idle(tmp_path / "thousand", 1_000)
    assert one.counts() == thousand.counts()
    writes, reads, statements = thousand.counts()
    assert writes == 0
    assert reads <= 8
    assert statements <= 15
    one.world.ledger.close()
    thousand.world.ledger.close()


def test_an_empty_poll_is_one_read(tmp_path: Path) -> None:
    idle = Idle(tmp_path / "one", 1)
    counts = idle.world.ledger.driver.counts
    before = counts.transactions, counts.reads, counts.statements
    assert not idle.worker.claim_one()
    assert (counts.transactions - before[0], counts.reads - before[1], counts.statements - before[2]) == (0, 1, 2)
    idle.world.ledger.close()


@pytest.mark.parametrize("service", ["timer", "outbox", "leases"])
def test_a_service_that_finds_nothing_is_one_read(tmp_path: Path, service: str) -> None:
    idle = Idle(tmp_path / "one", 1)
    (found,) = [each for each in idle.services if each.name == service]
    counts = idle.world.ledger.driver.counts
    before = counts.transactions, counts.reads
    found.run_once()
    assert (counts.transactions - before[0], counts.reads - before[1]) == (0, 1)
    idle.world.ledger.close()


def test_a_busy_worker_claims_without_looking_first(tmp_path: Path) -> None:
    idle = Idle(tmp_path / "one", 3)
    for number in (1, 2):
        idle.world.send(Pulse(pond=f"pond_{number}@1"))
    counts = idle.world.ledger.driver.counts
    before = counts.transactions, counts.reads
    assert idle.worker.claim_one()
    join_slots()
    done = counts.transactions - before[0], counts.reads - before[1]
    assert done == (5, 1), "a look, a claim and a commit of both, and a claim that finds nothing"
    idle.world.ledger.close()
