"""Two transactions on PostgreSQL, one cut into the other at every statement: row locks decide, never luck.

One of the two is stopped before its n-th statement, for every n, and the other runs until it is done or waits for a
lock of the first; then the first goes on. Whoever wins, the work is done once and nothing is left over.
"""

from __future__ import annotations

import pytest

from pondage.kernel.demand.events import Kill, Pulse
from pondage.ledger.commit import guarded, work
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver
from pondage.ledger.database.postgres import PostgresDriver
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import Written
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.step import advance
from pondage.ledger.upkeep import leases, reap
from tests.histories.checks import _LEFT_OVER
from tests.histories.postgres import PostgresSchema
from tests.ledger.harness import SECOND, Worker, World, content, pond
from tests.services.interleaving import cut_everywhere
from tests.services.postgres import PostgresServer


class Scene:
    """Two Ponds in a chain and a third one, a worker that holds the first piece of work, and a second worker."""

    def __init__(self, server: PostgresServer) -> None:
        PostgresSchema(server.url, "interleaved")
        self._made: list[Driver] = []

        def make(clock: FakeClock) -> Driver:
            self._made.append(PostgresDriver(server.url, schema="interleaved", clock=clock))
            return self._made[-1]

        self.world = World(make)
        self.world.deploy(pond("orders"), pond("sales", sources={"orders": True}), pond("other"))
        self.world.send(Pulse(pond="sales@1"))
        self.first, self.second = self.world.worker(pid=1), self.world.worker(pid=2)
        held = self.first.claim()
        assert held is not None
        self.held: Work = held
        self.world.send(Pulse(pond="other@1"))
        self.queues = self.first.queues()
        self._rows = {worker.id: worker.row for worker in (self.first, self.second)}
        with self.world.ledger.transaction() as tx:
            leases.extend(tx, execution=held.claim.execution, token=held.claim.token, for_us=1)
        self.world.clock.time += 10

    def commit(self, ledger: Ledger) -> object:
        return guarded.commit(ledger, self.held, Written(content(self.held)), process=self.first.id)

    def release(self, ledger: Ledger) -> object:
        return guarded.release(ledger, self.held)

    def reap(self, ledger: Ledger) -> object:
        return reap.reap_process(ledger, self._row(self.first), reason="silent")

    def reap_second(self, ledger: Ledger) -> object:
        return reap.reap_process(ledger, self._row(self.second), reason="silent")

    def claim(self, ledger: Ledger) -> object:
        return work.claim_work(ledger, process=self.second.id, queues=self.queues, token="tsecond", is_alone=True)

    def claim_too(self, ledger: Ledger) -> object:
        return work.claim_work(ledger, process=self.first.id, queues=self.queues, token="tfirst", is_alone=True)

    def kill(self, ledger: Ledger) -> object:
        from pondage.ledger.act import verbs

        return verbs.send(ledger, "main", Kill(pond="orders@1"))

    def kill_other(self, ledger: Ledger) -> object:
        from pondage.ledger.act import verbs

        return verbs.send(ledger, "main", Kill(pond="other@1"))

    def expire(self, ledger: Ledger) -> object:
        return leases.expire(ledger, process=None)

    def remove(self, ledger: Ledger) -> object:
        from pondage.define.values.names import PondKey
        from pondage.ledger.act.branching import deployed
        from pondage.ledger.act.deploy import deploy

        with self.world.ledger.reading() as tx:
            expected = deployed(tx, self.world.ledger, "main")
        return deploy(
            ledger, "main", project="p", definitions=[], removed=[PondKey("orders@1")], archive=b"b", summary="{}",
            expected=expected,
        )  # fmt: skip

    def join(self, ledger: Ledger) -> object:
        from pondage.ledger.act.branching import deployed
        from pondage.ledger.act.deploy import deploy

        with self.world.ledger.reading() as tx:
            expected = deployed(tx, self.world.ledger, "main")
        return deploy(
            ledger, "main", project="p", definitions=[pond("both", sources={"sales": True, "other": True})], removed=[],
            archive=b"b", summary="{}", expected=expected,
        )  # fmt: skip

    def _row(self, worker: Worker) -> processes.ProcessRow:
        return self._rows[worker.id]

    def ending(self) -> list[str]:
        """Reap everybody, let a new worker do what is left, and answer what is wrong then."""
        ledger = self.world.ledger
        with ledger.reading() as tx:
            rows = processes.alive(tx)
        for row in rows:
            reap.reap_process(ledger, row, reason="silent")
        self.world.clock.time += 100 * SECOND
        for _ in range(3):
            advance.advance_due(ledger, process=None)
            self.world.worker(pid=9).drain()
        with ledger.reading() as tx:
            return [
                f"{what}: {row['what']}"
                for what, question in _LEFT_OVER.items()
                if not what.startswith("outbox")
                for row in tx.rows(question)
            ]

    def close(self) -> None:
        for driver in self._made:
            driver.close()


PAIRS = [
    ("commit", "reap"),
    ("commit", "kill"),
    ("commit", "expire"),
    ("commit", "commit"),
    ("commit", "release"),
    ("commit", "remove"),
    ("commit", "join"),
    ("release", "kill"),
    ("reap", "kill"),
    ("reap", "reap"),
    ("reap", "expire"),
    ("claim", "claim_too"),
    ("claim", "kill_other"),
    ("claim", "reap_second"),
    ("claim", "join"),
]


@pytest.mark.parametrize(("one", "other"), [*PAIRS, *[(b, a) for a, b in PAIRS if b not in (a, "join", "remove")]])
def test_whoever_wins_the_work_is_done_once(postgres: PostgresServer, one: str, other: str) -> None:
    cut_everywhere(lambda: Scene(postgres), postgres.url, one, other)
