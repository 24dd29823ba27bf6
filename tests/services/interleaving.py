"""Cutting one transaction into another on PostgreSQL: a thread for each, a gate before each statement."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import psycopg

from pondage.errors import LedgerError
from pondage.ledger.database.driver import Driver, LedgerUnavailable, Transaction
from pondage.ledger.ledger import Ledger
from tests.ledger.harness import World
from tests.patience import PATIENCE_S

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
        if name not in ("row", "rows", "one", "change"):
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


class Scene(Protocol):
    """What two sides act upon: each act is a method that takes the ledger of its side."""

    world: World

    def ending(self) -> list[str]:
        """Finish what is left to do, and answer what is wrong then."""

    def close(self) -> None:
        """Let go of everything."""


def cut_everywhere(make: Callable[[], Scene], url: str, one: str, other: str, *, every: int = EVERY) -> None:
    """Cut `other` into `one` before each (or every n-th) statement of it, in a new scene each time."""
    with psycopg.connect(url, autocommit=True) as watch:
        before = 0
        while played(make(), watch, one, other, before):
            before += every
        assert before > 2, "it was hardly cut at all"


def played(scene: Scene, watch: psycopg.Connection[Any], one: str, other: str, before: int) -> bool:
    """Cut `other` into `one` before its n-th statement. False when `one` has fewer statements."""
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
