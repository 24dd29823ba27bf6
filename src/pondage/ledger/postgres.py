"""PostgreSQL: one server, any number of machines. Time is the server's; locks are rows; wake-ups are notifications."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from weakref import WeakKeyDictionary

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from pondage.errors import LedgerError
from pondage.ledger.clock import Clock
from pondage.ledger.dialect import CLOCK, translated
from pondage.ledger.driver import Counts, LedgerUnavailable, Row, Value
from pondage.ledger.notices import Connection, Notifier, PostgresChanges
from pondage.ledger.wire import Answer, Asked, Statement, Wire

PRESENCE = 7307
"""The first key of the advisory locks that processes hold while their heartbeat's connection lives."""
_BEGIN: Asked = (Statement(b"BEGIN", ()), {})
_BEGIN_READING: Asked = (Statement(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", ()), {})
_ROLLBACK: Asked = (Statement(b"ROLLBACK", ()), {})
_COMMIT: Asked = (Statement(b"COMMIT", ()), {})
_NOW: Asked = (translated("SELECT :clock AS now"), {})
_SAVEPOINT: Asked = (Statement(b"SAVEPOINT inner_step", ()), {})
_RELEASE: Asked = (Statement(b"RELEASE SAVEPOINT inner_step", ()), {})
_UNDO: Asked = (Statement(b"ROLLBACK TO SAVEPOINT inner_step", ()), {})
LONGEST_PAUSE_S = 60.0
"""So long may a transaction wait for its client's next word. Then the server ends it and frees its rows."""
_TIMEOUTS = "-c lock_timeout=30s -c statement_timeout=120s -c idle_in_transaction_session_timeout={pause_ms:.0f}"
_NAMED = "left('pondage/' || CAST(:process AS text) || '/' || current_schema(), 63)"
"""What the connections of a process are called once it has registered, so that they can be found."""
_NAMING = translated(f"SELECT set_config('application_name', {_NAMED}, false)")


class PostgresTransaction:
    """One open transaction on one connection."""

    boot = "server"

    def __init__(self, wire: Wire, now: int, driver: PostgresDriver) -> None:
        self._wire = wire
        self._driver = driver
        self._waiting: list[Asked] = []
        self.now = now
        self.seen: dict[tuple[str, object], object] = {}

    @property
    def beat(self) -> int:
        """The server's time: every machine's heartbeats are written and judged by it."""
        return self.now

    def rows(self, statement: str, **values: Value) -> list[Row]:
        """Run a statement and answer its rows."""
        return self._run(statement, values).rows

    def row(self, statement: str, **values: Value) -> Row | None:
        """Run a statement and answer its first row, or None."""
        found = self._run(statement, values).rows
        return found[0] if found else None

    def change(self, statement: str, **values: Value) -> int:
        """Run a statement and answer how many rows it changed."""
        return self._run(statement, values).changed

    def write(self, statement: str, **values: Value) -> None:
        """Keep a statement until the next one that is answered: then all are sent in one go."""
        self._driver.counts.statements += 1
        values["now"] = self.now
        self._waiting.append((self._driver.statement(statement), values))

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
        is_open = _SAVEPOINT not in self._waiting
        self._waiting.clear()
        if is_open:
            self._ask([_UNDO])

    def flush(self, *last: Asked) -> None:
        """Send what waits, and `last` after it, in one round trip."""
        waiting, self._waiting = [*self._waiting, *last], []
        if waiting:
            self._ask(waiting)

    def _ask(self, asked: list[Asked]) -> Answer:
        try:
            return self._wire.ask(asked)
        except psycopg.OperationalError as error:
            raise LedgerUnavailable(f"the ledger cannot be used now: {error}") from error

    def server_age_us(self) -> int | None:
        """Answer how long the server has been up; None when a test's clock is used, which cannot be compared."""
        if self._driver.has_own_clock:
            return None
        started = self.row("SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint AS at")
        assert started is not None
        at = started["at"]
        assert isinstance(at, int)
        return self.now - at

    def sign(self, process: int) -> None:
        """Name the connections of this program after a process, each one before its next transaction."""
        self._driver.process = process

    def announce(self, process: int) -> None:
        """Hold a session lock on this thread's connection; a new connection takes it anew."""
        if self._driver.announced() != process:
            row = self.row(
                "SELECT pg_try_advisory_lock(CAST(:space AS integer), CAST(:process AS integer)) AS held",
                space=PRESENCE,
                process=process,
            )
            # Our last connection may not have ended for the server yet: then the next beat tries again.
            if row is not None and row["held"]:
                self._driver.remember_announced(process)

    def is_gone(self, process: int) -> bool:
        """Answer whether nobody holds the lock of that process: it is free for us until this transaction ends."""
        row = self.row(
            "SELECT pg_try_advisory_xact_lock(CAST(:space AS integer), CAST(:process AS integer)) AS free",
            space=PRESENCE,
            process=process,
        )
        return row is not None and bool(row["free"])

    def evict(self, process: int) -> int:
        """End the transactions that a process has open. Its locks are free a moment later.

        No timeout of the server does that reliably: after statements that were sent together, PostgreSQL does not
        count the pause that follows them.
        """
        rows = self.rows(
            f"""SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = {_NAMED} AND pid <> pg_backend_pid()
                      AND xact_start IS NOT NULL""",
            process=str(process),
        )
        return len(rows)

    def _run(self, statement: str, values: dict[str, Value]) -> Answer:
        self._driver.counts.statements += 1
        values["now"] = self.now
        waiting, self._waiting = self._waiting, []
        waiting.append((self._driver.statement(statement), values))
        return self._ask(waiting)


class PostgresDriver:
    """The ledger on a server. Each thread has its own connection; a lost one is replaced by the next transaction.

    The connection of a thread that has ended is closed when the next one is opened.
    """

    dialect = "postgres"

    def __init__(
        self, url: str, *, schema: str | None = None, clock: Clock | None = None, pause_s: float = LONGEST_PAUSE_S
    ) -> None:
        """`clock` replaces the server's time, for tests that move it.

        `pause_s` is how long a transaction may wait for our next word. One that a dead network interrupted in the
        middle of a claim holds the row of its process: until the server ends it, nobody can declare that one dead.
        """
        self.url = url
        self._clock = clock
        self.counts = Counts()
        self._local = threading.local()
        self._all: dict[Connection, threading.Thread] = {}
        self._guard = threading.Lock()
        self._watches: list[PostgresChanges] = []
        self._statements: dict[str, Statement] = {}
        self._wires: WeakKeyDictionary[Connection, Wire] = WeakKeyDictionary()
        self._notifier = Notifier(self.connect)
        self.process: int | None = None
        """Whose driver this is, known when it has registered."""
        schemas = "" if schema is None else f" -c search_path={schema}"
        # What the address says itself comes last and wins.
        timeouts = _TIMEOUTS.format(pause_ms=min(pause_s, LONGEST_PAUSE_S) * 1000)
        self._options = f"{timeouts}{schemas} {_said_options(url)}".strip()

    @property
    def has_own_clock(self) -> bool:
        """Answer whether a test's clock replaces the server's."""
        return self._clock is not None

    def statement(self, text: str) -> Statement:
        """Answer the translation of a statement, made once."""
        found = self._statements.get(text)
        if found is None:
            found = self._statements[text] = translated(text, clock=CLOCK if self._clock is None else ":now")
        return found

    @contextmanager
    def transaction(self) -> Iterator[PostgresTransaction]:
        """Open a transaction that writes; others are told after it is committed."""
        self.counts.transactions += 1
        with self._block(_BEGIN) as transaction:
            yield transaction
        self._notifier.tell()

    @contextmanager
    def reading(self) -> Iterator[PostgresTransaction]:
        """Open a transaction that only reads, and sees one moment."""
        self.counts.reads += 1
        with self._block(_BEGIN_READING) as transaction:
            yield transaction

    def script(self, statements: str) -> None:
        """Run a migration under a lock that keeps other starters waiting."""
        connection = self._connection()
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(7307199)")
            connection.execute(statements)

    def changes(self) -> PostgresChanges:
        """Answer a new watch for changes that anybody commits."""
        watch = PostgresChanges(self.connect)
        with self._guard:
            self._watches.append(watch)
        return watch

    def connect(self) -> Connection:
        """Open a connection; raises `LedgerUnavailable`."""
        try:
            connection = psycopg.connect(
                self.url,
                autocommit=True,
                row_factory=dict_row,
                connect_timeout=10,
                keepalives_idle=10,
                keepalives_interval=5,
                keepalives_count=3,
                tcp_user_timeout=30_000,
                # Statements are prepared by the wire, which must know of every one.
                prepare_threshold=None,
                options=self._options,
                application_name="pondage",
            )
        except psycopg.OperationalError as error:
            raise LedgerUnavailable(
                f"the ledger's PostgreSQL server does not answer: {str(error).strip()}",
                hint="check that the server runs and that the address in pondage.toml is right",
            ) from error
        return connection

    def sever(self) -> None:
        """Cut every connection that any thread holds: a server behind a dead network neither answers nor refuses."""
        with self._guard:
            for connection in self._all:
                with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as wire:
                    wire.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close every connection that any thread opened, and every watch."""
        self._notifier.close()
        with self._guard:
            for watch in self._watches:
                watch.close()
            for connection in self._all:
                connection.close()
            self._all.clear()
            self._local = threading.local()

    def announced(self) -> int | None:
        """Answer whose presence this thread's connection announces."""
        found: int | None = getattr(self._local, "announced", None)
        return found

    def remember_announced(self, process: int) -> None:
        """Remember that this thread's connection holds the lock of a process."""
        self._local.announced = process

    @contextmanager
    def _block(self, begin: Asked) -> Iterator[PostgresTransaction]:
        connection = self._connection()
        wire = self._wire(connection)
        try:
            if self.process is not None and getattr(self._local, "named", None) != self.process:
                wire.ask([(_NAMING, {"process": str(self.process)})])
                self._local.named = self.process
            row = wire.ask([begin, _NOW]).rows[0]
            now = row["now"] if self._clock is None else self._clock.now()
            assert isinstance(now, int)
            transaction = PostgresTransaction(wire, now, self)
            try:
                yield transaction
            except BaseException:
                if not connection.closed:
                    wire.ask([_ROLLBACK])
                raise
            transaction.flush(_COMMIT)
        except LedgerUnavailable:
            self._forget(connection)
            raise
        except psycopg.Error as error:
            # The server may end a connection with an error of any class, for example after too long a pause.
            if not isinstance(error, psycopg.OperationalError) and not connection.closed:
                raise
            self._forget(connection)
            raise LedgerUnavailable(f"the ledger cannot be used now: {error}") from error

    def _wire(self, connection: Connection) -> Wire:
        found = self._wires.get(connection)
        if found is None:
            found = self._wires[connection] = Wire(connection)
        return found

    def _connection(self) -> Connection:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None or connection.closed:
            connection = self.connect()
            self._local.connection = connection
            self._local.announced = self._local.named = None
            with self._guard:
                for idle in [each for each, owner in self._all.items() if not owner.is_alive()]:
                    idle.close()
                    del self._all[idle]
                self._all[connection] = threading.current_thread()
        return connection

    def _forget(self, connection: Connection) -> None:
        connection.close()
        self._local.connection = None
        with self._guard:
            self._all.pop(connection, None)


def _said_options(url: str) -> str:
    try:
        return str(conninfo_to_dict(url).get("options") or "")
    except psycopg.ProgrammingError as error:
        raise LedgerError(
            f"the ledger address is not understood: {str(error).strip()}",
            hint='write ledger = "postgresql://user@host:5432/name"',
            code="BAD_LEDGER_URL",
        ) from None
