"""A process that dies at any transaction boundary of a backfill changes nothing: each day is computed, and once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pondage.define.project.durability import Durability
from pondage.kernel.demand.events import Pulse
from pondage.ledger.act import backfills as verbs
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver
from pondage.ledger.queue import processes
from pondage.ledger.step import advance
from pondage.ledger.upkeep import reap
from tests.ledger.harness import SECOND, MakeDriver, Worker, World
from tests.ledger.mortal import Died, MortalDriver
from tests.ledger.step.test_backfills import DAYS, daily, days, drain, finish, published


class Play:
    """A backfill of three days, a Pulse beside it, a pause and a resume, by a process that dies where it is told."""

    def __init__(self, make_driver: MakeDriver, deaths: dict[int, bool]) -> None:
        self.world = World(make_driver, durability=Durability(retry_delay_s=0, crash_budget=1_000, crash_delay_s=0))
        published(self.world, daily())
        self.mortal = MortalDriver(self.world.ledger.driver)
        self.world.ledger.driver = self.mortal  # type: ignore[assignment]
        self.worker = Worker(self.world)
        self.mortal.seen, self.mortal.deaths = 0, dict(deaths)
        self.died = self.boundaries = 0

    def run(self) -> dict[str, object]:
        ledger = self.world.ledger
        self.once(lambda: verbs.start(ledger, "main", "sales@1", chunks=days(*DAYS)))
        public_id = str(self.world.one("SELECT public_id FROM backfills"))
        self.work(1)
        self.once(lambda: self.world.send(Pulse(pond="sales@1")))  # type: ignore[arg-type]
        self.once(lambda: verbs.pause(ledger, "main", public_id))
        self.work(10)
        self.once(lambda: verbs.resume(ledger, "main", public_id))
        self.work(10)
        self.boundaries = self.mortal.seen
        assert drain(self.world, self.worker) == []
        return {
            "backfill": self.world.rows("SELECT state, reason FROM backfills"),
            "chunks": self.world.rows("SELECT number, state FROM chunks ORDER BY id"),
            "runs": sorted(
                (str(row["state"]), str(row["reason"]), str(row["number"]))
                for row in self.world.rows(
                    """SELECT r.state AS state, r.reason AS reason, c.number AS number
                       FROM runs r LEFT JOIN chunks c ON c.id = r.chunk"""
                )
            ),
            "signals": self.world.rows("SELECT kind FROM signals"),
        }

    def once(self, action: Callable[[], object]) -> None:
        """Do something that a person does: he does it again when he was not told that it is done."""
        try:
            action()
        except Died as death:
            self.restart()
            if not death.is_committed:
                self.once(action)

    def work(self, limit: int) -> None:
        """Carry out what is there, whoever dies."""
        done = 0
        while done < limit:
            try:
                advance.advance_due(self.world.ledger, process=None)
                held = self.worker.claim()
                if held is None:
                    return
                finish(self.world, self.worker, held)
            except Died:
                self.restart()
                continue
            done += 1

    def restart(self) -> None:
        self.died += 1
        while True:
            try:
                with self.world.ledger.reading() as tx:
                    alive = processes.alive(tx)
                for row in alive:
                    reap.reap_process(self.world.ledger, row, reason="killed")
                self.worker = Worker(self.world, pid=1 + self.died)
                self.world.clock.time += SECOND
            except Died:
                self.died += 1
                continue
            return


@pytest.mark.parametrize("is_committed", [False, True], ids=["before its commit", "after its commit"])
def test_a_death_at_any_boundary_of_a_backfill_changes_nothing(
    driver_factory: Callable[[str, FakeClock], Driver], is_committed: bool
) -> None:
    def drivers(name: str) -> MakeDriver:
        return lambda clock: driver_factory(name, clock)

    prefix = "after" if is_committed else "before"
    unharmed = Play(drivers(f"{prefix}_unharmed"), {})
    expected = unharmed.run()
    assert [row["state"] for row in expected["chunks"]] == ["completed"] * 3  # type: ignore[attr-defined]
    for boundary in range(1, unharmed.boundaries + 1):
        play = Play(drivers(f"{prefix}_{boundary}"), {boundary: is_committed})
        assert play.run() == expected, boundary
        assert play.died == 1, boundary
        play.world.ledger.close()
