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
from pondage.ledger.database.clock import Clock
from pondage.ledger.database.dialect import CLOCK, STARTED, translated
from pondage.ledger.database.driver import Counts, LedgerUnavailable
from pondage.ledger.database.notices import Connection, Notifier, PostgresChanges
from pondage.ledger.database.postgres_transaction import NAMED, PostgresTransaction
from pondage.ledger.database.wire import Asked, Statement, Wire

_BEGIN: Asked = (Statement(b"BEGIN", ()), {})
_BEGIN_READING: Asked = (Statement(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", ()), {})
_ROLLBACK: Asked = (Statement(b"ROLLBACK", ()), {})
_COMMIT: Asked = (Statement(b"COMMIT", ()), {})
LONGEST_PAUSE_S = 60.0
"""So long may a transaction wait for its client's next word. Then the server ends it and frees its rows."""
_TIMEOUTS = "-c lock_timeout=30s -c statement_timeout=120s -c idle_in_transaction_session_timeout={pause_ms:.0f}"
_NAMING = translated(f"SELECT set_config('application_name', {NAMED}, false)")


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
        self._statements: dict[tuple[str, bool], Statement] = {}
        self._wires: WeakKeyDictionary[Connection, Wire] = WeakKeyDictionary()
        self._notifier = Notifier(self.connect)
        self.process: int | None = None
        """Whose driver this is, known when it has registered."""
        schemas = "" if schema is None else f" -c search_path={schema}"
        # What the address says itself comes last and wins.
        timeouts = _TIMEOUTS.format(pause_ms=min(pause_s, LONGEST_PAUSE_S) * 1000)
        self._options = f"{timeouts}{schemas} {_said_options(url)}".strip()

    def clock_now(self) -> int | None:
        """Answer the time of a test's clock; None when the time is the server's."""
        return None if self._clock is None else self._clock.now()

    def statement(self, text: str, *, is_early: bool = False) -> Statement:
        """Answer the translation of a statement, made once; an early one goes out before we know the time."""
        found = self._statements.get((text, is_early))
        if found is None:
            clock = CLOCK if self._clock is None else ":now"
            found = self._statements[text, is_early] = translated(
                text, clock=clock, now=STARTED if is_early else ":now"
            )
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
            transaction = PostgresTransaction(wire, begin, self)
            try:
                yield transaction
                transaction.commit(_COMMIT)
            except BaseException:
                if not connection.closed:
                    wire.ask([_ROLLBACK])
                raise
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
