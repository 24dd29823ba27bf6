"""The shipped drivers with the real SQL, behind a connection that can lose any answer."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from pondage.ledger.database.driver import Counts, Driver, LedgerUnavailable, Transaction
from pondage.ledger.database.migrate import migrate
from pondage.ledger.database.sqlite import SqliteDriver
from tests.histories.scheduler import SECOND, Died, Fate, Process, Scheduler, SimulatedClock

WATCHES = """
CREATE TABLE broken (what TEXT NOT NULL);
CREATE TRIGGER freshness_fell AFTER UPDATE OF state ON ponds
WHEN coalesce(json_extract(NEW.state, '$.end_f'), -1) < json_extract(OLD.state, '$.end_f')
BEGIN INSERT INTO broken VALUES ('the freshness of ' || NEW.name || ' fell'); END;
CREATE TRIGGER closed_twice AFTER UPDATE ON executions
WHEN OLD.completed_at IS NOT NULL
     AND (NEW.completed_at IS NOT OLD.completed_at OR NEW.outcome IS NOT OLD.outcome OR NEW.token IS NOT OLD.token)
BEGIN INSERT INTO broken VALUES ('execution ' || NEW.id || ' was ' || OLD.outcome || ' and changed afterwards'); END;
CREATE TRIGGER dispatch_closed_twice AFTER UPDATE ON dispatches
WHEN OLD.outcome IS NOT NULL AND NEW.outcome IS NOT OLD.outcome
BEGIN INSERT INTO broken VALUES ('dispatch ' || NEW.id || ' was ' || OLD.outcome || ' and changed afterwards'); END;
CREATE TRIGGER published_twice AFTER INSERT ON snapshots
WHEN (SELECT count(*) FROM snapshots s JOIN executions e ON e.id = s.execution
      WHERE e.dispatch = (SELECT dispatch FROM executions WHERE id = NEW.execution)) > 1
BEGIN INSERT INTO broken VALUES ('execution ' || NEW.execution || ' published a second time'); END;
CREATE TRIGGER claimed_by_the_dead AFTER UPDATE OF process ON executions
WHEN EXISTS (SELECT 1 FROM processes p WHERE p.id = NEW.process AND p.dead_at IS NOT NULL)
BEGIN INSERT INTO broken VALUES ('a dead process claimed execution ' || NEW.id); END;
"""
"""What must hold at every moment, not only at the end, is watched by the database itself."""


class Database(Protocol):
    """Where a history is written: every simulated process connects to the same one."""

    def connect(self, clock: SimulatedClock) -> Driver:
        """Answer the driver of one more process."""

    def close(self) -> None:
        """Throw everything away."""


class SharedSqlite(SqliteDriver):
    """One connection in memory for everybody: only one thread runs at a time, and none stops inside a transaction."""

    def __init__(self, connection: sqlite3.Connection, clock: SimulatedClock) -> None:
        super().__init__(Path(":memory:"), clock)
        self.shared = connection

    @contextmanager
    def _held(self) -> Iterator[sqlite3.Connection]:
        yield self.shared


def _in_memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)


class SqliteMemory:
    """A new ledger in memory, copied from one that was migrated once."""

    _template: sqlite3.Connection | None = None

    def __init__(self) -> None:
        if SqliteMemory._template is None:
            made = _in_memory()
            migrate(SharedSqlite(made, SimulatedClock()))
            made.executescript(WATCHES)
            SqliteMemory._template = made
        self.connection = _in_memory()
        SqliteMemory._template.backup(self.connection)
        self.connection.execute("PRAGMA foreign_keys=ON")
        self.connection.execute("PRAGMA synchronous=OFF")

    def connect(self, clock: SimulatedClock) -> Driver:
        return SharedSqlite(self.connection, clock)

    def close(self) -> None:
        self.connection.close()


class SimulatedChanges:
    """A hint that something was committed: sometimes at once, sometimes only when the waiting is over."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._waiting: list[Any] = []

    def wait(self, seconds: float) -> bool:
        is_heard = self._scheduler.random.random() < 0.5
        self._waiting.append(self._scheduler.task())
        self._scheduler.sleep(seconds * self._scheduler.random.random() if is_heard else seconds)
        self._waiting.clear()
        return is_heard

    def wake(self) -> None:
        for task in self._waiting:
            self._scheduler.wake(task)

    def close(self) -> None:
        pass


class FaultyDriver:
    """The driver of one simulated process: each transaction is one step, with whatever fate the seed gives it."""

    def __init__(self, driver: Driver, process: Process) -> None:
        self._driver = driver
        self._process = process
        self._scheduler = process.scheduler
        self.dialect = driver.dialect
        self.counts: Counts = driver.counts

    def transaction(self) -> Any:
        return self._step(self._driver.transaction, _caller())

    def reading(self) -> Any:
        return self._step(self._driver.reading, _caller())

    def script(self, statements: str) -> None:
        self._driver.script(statements)

    def changes(self) -> SimulatedChanges:
        return SimulatedChanges(self._scheduler)

    def sever(self) -> None:
        self._driver.sever()

    def close(self) -> None:
        self._driver.close()

    @contextmanager
    def _step(self, begin: Any, caller: str) -> Iterator[Transaction]:
        scheduler, process = self._scheduler, self._process
        scheduler.pause()
        fate = scheduler.choose_fate(process)
        scheduler.fates[fate] = scheduler.fates.get(fate, 0) + 1
        task = scheduler.task()
        scheduler.log(f"{process.name}/{task.name} {caller}" + ("" if fate is Fate.FINE else f"  — {fate.value}"))
        if fate is Fate.DIES_BEFORE:
            self._die()
        if fate is Fate.UNREACHED:
            raise LedgerUnavailable("the database was not reached")
        if fate is Fate.FREEZES_BEFORE:
            self._freeze()
        with begin() as tx:
            yield tx
            if fate is Fate.DIES_INSIDE:
                self._die()
        if fate is Fate.DIES_AFTER:
            self._die()
        if fate is Fate.FREEZES_AFTER:
            self._freeze()
        if fate is Fate.ANSWER_LOST:
            raise LedgerUnavailable("the connection was cut after the commit")

    def _die(self) -> None:
        self._process.die()
        raise Died

    def _freeze(self) -> None:
        self._process.freeze(int(self._scheduler.random.uniform(1, 90) * SECOND))
        self._scheduler.pause()


def _caller() -> str:
    """Answer which function of ours began the transaction, for the history."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_name in ("transaction", "reading", "__enter__", "_step", "inner"):
        frame = frame.f_back  # type: ignore[assignment]
    name = frame.f_code.co_name
    if name in ("act", "<lambda>", "_remembered") and frame.f_back is not None:
        name = f"{frame.f_back.f_code.co_name}/{name}"
    return name
