"""One transaction on PostgreSQL: statements wait until somebody needs an answer, and then go out together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import psycopg

from pondage.ledger.database.dialect import STARTED, translated
from pondage.ledger.database.driver import Counts, LedgerUnavailable, Row, Transaction, UnfitValue, Value, check_text
from pondage.ledger.database.mapping import mapped
from pondage.ledger.database.wire import Answer, Asked, Statement, Wire

PRESENCE = 7307
"""The first key of the advisory locks that processes hold while their heartbeat's connection lives."""
NAMED = "left('pondage/' || CAST(:process AS text) || '/' || current_schema(), 63)"
"""What the connections of a process are called once it has registered, so that they can be found."""
_NOW: Asked = (translated("SELECT :now AS now", now=STARTED), {})
_SAVEPOINT: Asked = (Statement(b"SAVEPOINT inner_step", ()), {})
_RELEASE: Asked = (Statement(b"RELEASE SAVEPOINT inner_step", ()), {})
_UNDO: Asked = (Statement(b"ROLLBACK TO SAVEPOINT inner_step", ()), {})


class Server(Protocol):
    """What a transaction needs of the driver that began it."""

    counts: Counts
    process: int | None

    def clock_now(self) -> int | None:
        """Answer the time of a test's clock; None when the time is the server's."""

    def statement(self, text: str, *, is_early: bool = False) -> Statement:
        """Answer the translation of a statement."""

    def announced(self) -> int | None:
        """Answer whose presence this thread's connection announces."""

    def remember_announced(self, process: int) -> None:
        """Remember that this thread's connection holds the lock of a process."""


class PostgresTransaction(Transaction):
    """One open transaction on one connection."""

    boot = "server"

    def __init__(self, wire: Wire, begin: Asked, driver: Server) -> None:
        self._wire = wire
        self._driver = driver
        # The transaction begins with its first statement: no round trip is spent on that, or on asking for the time.
        self._waiting: list[Asked] = [begin, _NOW]
        self._heard: dict[int, Callable[[Answer], None]] = {1: self._hear_now}
        self._now = driver.clock_now()
        self._is_unheard = False
        self.seen: dict[tuple[str, object], object] = {}

    @property
    def now(self) -> int:
        """The server's time when the transaction began, or when it took an actor's lock."""
        if self._now is None:
            self.flush()
        assert self._now is not None
        return self._now

    @now.setter
    def now(self, now: int) -> None:
        self._now = now

    def _hear_now(self, answer: Answer) -> None:
        if self._now is None:
            (self._now,) = mapped(answer.rows, int)

    @property
    def beat(self) -> int:
        """The server's time: every machine's heartbeats are written and judged by it."""
        return self.now

    def read(self, statement: str, values: dict[str, Value]) -> list[Row]:
        """Run a statement and answer its rows."""
        return self._run(statement, values).rows

    def change(self, statement: str, **values: Value) -> int:
        """Run a statement and answer how many rows it changed."""
        return self._run(statement, values).changed

    def insert(self, statement: str, **values: Value) -> int:
        """Insert one row and answer its id."""
        return self.one(statement + " RETURNING id", int, **values)

    def write(self, statement: str, **values: Value) -> None:
        """Keep a statement until the next one that is answered: then all are sent in one go."""
        self._wait(statement, values)

    def write_one(self, statement: str, **values: Value) -> None:
        """Keep a statement that must change one row until the next one that is answered."""

        def hear(answer: Answer) -> None:
            assert answer.changed == 1, f"{answer.changed} rows instead of one: {statement}"

        self._heard[self._wait(statement, values)] = hear
        self._is_unheard = True

    def ahead(self, statement: str, **values: Value) -> Callable[[], list[Row]]:
        """Keep a question until the next one: both are sent in one go."""
        answers: list[Answer] = []
        self._heard[self._wait(statement, values)] = answers.append

        def rows() -> list[Row]:
            if not answers:
                self.flush()
            return answers[0].rows

        return rows

    def _wait(self, statement: str, values: dict[str, Value]) -> int:
        """Put a statement behind those that wait, and answer its place."""
        self._driver.counts.statements += 1
        check_text(values)
        values["now"] = self._now
        self._waiting.append((self._driver.statement(statement, is_early=self._now is None), values))
        return len(self._waiting) - 1

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Open a block whose changes alone are undone when it raises."""
        self._waiting.append(_SAVEPOINT)
        try:
            yield
            # What waits belongs to the block: an error in it must be seen here, not at the commit.
            self.flush()
        except LedgerUnavailable:
            raise
        except BaseException:
            self.seen.clear()
            self._undo()
            raise
        self._waiting.append(_RELEASE)

    def _undo(self) -> None:
        if _SAVEPOINT not in self._waiting:
            self._waiting.clear()
            self._heard.clear()
            self.flush(_UNDO)
            return
        # Nothing of the block was sent. What waits before it is not the block's, and goes out with the next statement.
        begun = len(self._waiting) - 1 - self._waiting[::-1].index(_SAVEPOINT)
        del self._waiting[begun:]
        self._heard = {place: hear for place, hear in self._heard.items() if place < begun}

    def flush(self, *last: Asked) -> None:
        """Send what waits, and `last` after it, in one round trip."""
        self._waiting.extend(last)
        if self._waiting:
            self._ask()

    def commit(self, last: Asked) -> None:
        """Send what waits and the commit; what must change one row is heard before that, while it can be undone."""
        if self._is_unheard:
            self.flush()
        self.flush(last)

    def _ask(self) -> Answer:
        """Send what waits, and answer what the last one answered."""
        self._is_unheard = False
        asked, self._waiting = self._waiting, []
        heard, self._heard = self._heard, {}
        try:
            answers = self._wire.ask(asked)
        except psycopg.OperationalError as error:
            raise LedgerUnavailable(f"the ledger cannot be used now: {error}") from error
        except psycopg.errors.NumericValueOutOfRange as error:
            raise UnfitValue("a number is beyond what the ledger keeps: 64 bits") from error
        for place, hear in heard.items():
            hear(answers[place])
        return answers[-1]

    def server_age_us(self) -> int | None:
        """Answer how long the server has been up; None when a test's clock is used, which cannot be compared."""
        if self._driver.clock_now() is not None:
            return None
        return self.now - self.one("SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint", int)

    def sign(self, process: int) -> None:
        """Name the connections of this program after a process, each one before its next transaction."""
        self._driver.process = process

    def announce(self, process: int) -> None:
        """Hold a session lock on this thread's connection; a new connection takes it anew."""
        if self._driver.announced() != process:
            is_held = self.one(
                "SELECT pg_try_advisory_lock(CAST(:space AS integer), CAST(:process AS integer))",
                bool,
                space=PRESENCE,
                process=process,
            )
            # Our last connection may not have ended for the server yet: then the next beat tries again.
            if is_held:
                self._driver.remember_announced(process)

    def is_gone(self, process: int) -> bool:
        """Answer whether nobody holds the lock of that process: it is free for us until this transaction ends."""
        return self.one(
            "SELECT pg_try_advisory_xact_lock(CAST(:space AS integer), CAST(:process AS integer))",
            bool,
            space=PRESENCE,
            process=process,
        )

    def evict(self, process: int) -> int:
        """End the transactions that a process has open. Its locks are free a moment later.

        No timeout of the server does that reliably: after statements that were sent together, PostgreSQL does not
        count the pause that follows them.
        """
        rows = self.rows(
            f"""SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = {NAMED} AND pid <> pg_backend_pid()
                      AND xact_start IS NOT NULL""",
            process=str(process),
        )
        return len(rows)

    def _run(self, statement: str, values: dict[str, Value]) -> Answer:
        self._wait(statement, values)
        return self._ask()
