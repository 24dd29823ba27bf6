"""Two transactions on PostgreSQL, one cut into the other at every statement: row locks decide, never luck.

One of the two is stopped before its n-th statement, for every n, and the other runs until it is done or waits for a
lock of the first; then the first goes on. Whoever wins, the work is done once and nothing is left over.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from pondage.errors import LedgerError
from pondage.kernel.demand.events import Kill, Pulse
from pondage.ledger import advance, leases, processes, reap, work
from pondage.ledger.clock import FakeClock
from pondage.ledger.driver import Driver, LedgerUnavailable, Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.postgres import PostgresDriver
from pondage.ledger.work import Work
from tests.ledger.harness import SECOND, Worker, World, content, pond
from tests.services.postgres import PostgresServer
from tests.simulation.checks import _LEFT_OVER
from tests.simulation.postgres import PostgresSchema

PATIENCE_S = 120.0
MOST_STATEMENTS = 80
EVERY = int(os.environ.get("PONDAGE_TEST_CUTS", "3"))
"""The tests cut before every third statement; PONDAGE_TEST_CUTS=1 cuts before each, which takes three times as long."""
Act = Callable[[Ledger], object]


class Gate:
    """Lets a thread run one statement at a time, when the test says so."""

    def __init__(self) -> None:
        self.is_waiting = threading.Event()
        self._may_run = threading.Semaphore(0)
        self.backend = 0

    def pass_through(self) -> None:
        self.is_waiting.set()
        assert self._may_run.acquire(timeout=PATIENCE_S)

    def let_one(self) -> None:
        self.is_waiting.clear()
        self._may_run.release()


class GatedTransaction:
    """A transaction that waits at the gate before each statement."""

    def __init__(self, tx: Transaction, gate: Gate) -> None:
        self._tx = tx
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._tx, name)
        if name not in ("row", "rows", "change"):
            return real

        def gated(*given: Any, **values: Any) -> Any:
            self._gate.pass_through()
            return real(*given, **values)

        return gated

    def __setattr__(self, name: str, value: object) -> None:
        if name in ("_tx", "_gate"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._tx, name, value)


class GatedDriver:
    """The driver of one side."""

    def __init__(self, driver: Driver, gate: Gate) -> None:
        self._driver = driver
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        with self._driver.transaction() as tx:
            row = tx.row("SELECT pg_backend_pid() AS pid")
            assert row is not None
            self._gate.backend = int(str(row["pid"]))
            yield GatedTransaction(tx, self._gate)
            self._gate.pass_through()


class Side:
    """One act in a thread of its own."""

    def __init__(self, world: World, seed: int, act: Act) -> None:
        self.gate = Gate()
        ledger = world.open(seed)
        ledger.durability = world.ledger.durability
        ledger.driver = GatedDriver(ledger.driver, self.gate)  # type: ignore[assignment]
        self._ledger = ledger
        self._act = act
        self.error: Exception | None = None
        self.is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._act(self._ledger)
        except Exception as error:  # noqa: BLE001 - looked at by the test
            self.error = error
        finally:
            self.is_over.set()

    def settle(self, watch: psycopg.Connection[Any]) -> bool:
        """Wait until it is at its gate, over, or waits for a lock. False when it waits for a lock."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.is_over.is_set() and not self.gate.is_waiting.is_set():
            assert time.monotonic() < deadline, "neither done nor waiting"
            row = watch.execute(
                "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'", (self.gate.backend,)
            ).fetchone()
            if row is not None and not self.gate.is_waiting.is_set():
                return False
            self.is_over.wait(0.001)
        return True

    def step(self, watch: psycopg.Connection[Any]) -> bool:
        """Run one statement. False when it is over or has to wait for a lock."""
        if not self.settle(watch) or self.is_over.is_set():
            return False
        self.gate.let_one()
        return self.settle(watch) and not self.is_over.is_set()

    def finish(self, watch: psycopg.Connection[Any]) -> bool:
        """Run until it is over. False when it has to wait for a lock."""
        for _ in range(MOST_STATEMENTS):
            if self.is_over.is_set():
                return True
            if not self.step(watch) and not self.is_over.is_set():
                return False
        raise AssertionError("it never ends")

    def close(self) -> None:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        self._ledger.close()


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
        return work.commit_written(ledger, self.held, content(self.held), process=self.first.id)

    def release(self, ledger: Ledger) -> object:
        return work.release(ledger, self.held)

    def reap(self, ledger: Ledger) -> object:
        return reap.reap_process(ledger, self._row(self.first), reason="silent")

    def reap_second(self, ledger: Ledger) -> object:
        return reap.reap_process(ledger, self._row(self.second), reason="silent")

    def claim(self, ledger: Ledger) -> object:
        return work.claim_work(ledger, process=self.second.id, queues=self.queues, token="tsecond", is_alone=True)

    def claim_too(self, ledger: Ledger) -> object:
        return work.claim_work(ledger, process=self.first.id, queues=self.queues, token="tfirst", is_alone=True)

    def kill(self, ledger: Ledger) -> object:
        from pondage.ledger import verbs

        return verbs.send(ledger, "main", Kill(pond="orders@1"))

    def kill_other(self, ledger: Ledger) -> object:
        from pondage.ledger import verbs

        return verbs.send(ledger, "main", Kill(pond="other@1"))

    def expire(self, ledger: Ledger) -> object:
        return leases.expire(ledger, process=None)

    def remove(self, ledger: Ledger) -> object:
        from pondage.define.names import PondKey
        from pondage.ledger.deploy import deploy, deployed

        with self.world.ledger.reading() as tx:
            expected = deployed(tx, self.world.ledger, "main")
        return deploy(
            ledger, "main", project="p", definitions=[], removed=[PondKey("orders@1")], archive=b"b", summary="{}",
            expected=expected,
        )  # fmt: skip

    def join(self, ledger: Ledger) -> object:
        from pondage.ledger.deploy import deploy, deployed

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
    with psycopg.connect(postgres.url, autocommit=True) as watch:
        before = 0
        while played(postgres, watch, one, other, before):
            before += EVERY
        assert before > 2, "it was hardly cut at all"


def played(postgres: PostgresServer, watch: psycopg.Connection[Any], one: str, other: str, before: int) -> bool:
    """Cut `other` into `one` before its n-th statement. False when `one` has fewer statements."""
    scene = Scene(postgres)
    try:
        first = Side(scene.world, 11, getattr(scene, one))
        first.settle(watch)
        is_cut = all(first.step(watch) for _ in range(before))
        second = Side(scene.world, 12, getattr(scene, other))
        deadline = time.monotonic() + PATIENCE_S
        while not (second.finish(watch) and first.finish(watch)):
            first.finish(watch)
            assert time.monotonic() < deadline, f"{one} cut by {other} before statement {before}: both wait"
        for side in (first, second):
            side.close()
            # To be told that a plan is outdated is an answer; a deadlock is a lock taken in the wrong order.
            is_answer = side.error is None or (
                isinstance(side.error, LedgerError) and not isinstance(side.error, LedgerUnavailable)
            )
            assert is_answer, f"{one} cut by {other} before statement {before}: {side.error!r}"
        found = scene.ending()
        assert found == [], f"{one} cut by {other} before statement {before}: {found}"
        return is_cut
    finally:
        scene.close()
