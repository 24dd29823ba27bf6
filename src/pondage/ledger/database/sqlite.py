"""SQLite: one file on one machine, WAL, every commit on the disk before it is answered."""

from __future__ import annotations

import re
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from operator import itemgetter
from pathlib import Path

from pondage.errors import LedgerError
from pondage.ledger.database.clock import Clock
from pondage.ledger.database.driver import Counts, LedgerUnavailable, Row, Transaction, UnfitValue, Value, check_text
from pondage.private import make_private, make_private_file

BUSY_TIMEOUT_S = 60.0


class SqliteTransaction(Transaction):
    """One open transaction on one connection."""

    def __init__(self, connection: sqlite3.Connection, clock: Clock, counts: Counts) -> None:
        self._connection = connection
        # One for all statements: each is answered before the next.
        self._cursor = connection.cursor()
        self._clock = clock
        self._counts = counts
        self.now = clock.now()
        self.seen: dict[tuple[str, object], object] = {}

    @property
    def beat(self) -> int:
        """The host's unbendable clock."""
        return self._clock.beat()

    @property
    def boot(self) -> str:
        """The host's boot."""
        return self._clock.boot

    def read(self, statement: str, values: dict[str, Value]) -> list[Row]:
        """Run a statement and answer its rows."""
        return _rows(self._run(statement, values))

    def change(self, statement: str, **values: Value) -> int:
        """Run a statement and answer how many rows it changed."""
        return self._run(statement, values).rowcount

    def insert(self, statement: str, **values: Value) -> int:
        """Insert one row and answer its id: the connection knows it, which costs less than asking for it."""
        identity = self._run(statement, values).lastrowid
        assert identity is not None
        return identity

    def write(self, statement: str, **values: Value) -> None:
        """Run a statement whose answer nobody needs."""
        self._run(statement, values)

    def write_one(self, statement: str, **values: Value) -> None:
        """Run a statement that must change exactly one row."""
        changed = self._run(statement, values).rowcount
        assert changed == 1, f"{changed} rows instead of one: {statement}"

    def ahead(self, statement: str, **values: Value) -> Callable[[], list[Row]]:
        """Ask at once: nothing is gained by waiting."""
        found = _rows(self._run(statement, values))
        return lambda: found

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Open a block whose changes alone are undone when it raises."""
        self._connection.execute("SAVEPOINT inner_step")
        try:
            yield
        except BaseException:
            self.seen.clear()
            self._connection.execute("ROLLBACK TO inner_step")
            self._connection.execute("RELEASE inner_step")
            raise
        self._connection.execute("RELEASE inner_step")

    def server_age_us(self) -> int | None:
        """A file is never down."""
        return None

    def sign(self, process: int) -> None:
        """Do nothing: a file has no connections that somebody else could end."""

    def announce(self, process: int) -> None:
        """Do nothing. Nobody could see it: processes on one machine are watched by their pid."""

    def is_gone(self, process: int) -> bool:  # noqa: ARG002 - what a driver with connections needs
        """Never a suspicion."""
        return False

    def evict(self, process: int) -> int:  # noqa: ARG002 - what a driver with connections needs
        """Nobody can: a process that stopped inside a transaction keeps the file until it goes on or ends."""
        return 0

    def _run(self, statement: str, values: dict[str, Value]) -> sqlite3.Cursor:
        self._counts.statements += 1
        values["now"] = values["clock"] = self.now
        check_text(values)
        marked, bind = _marked(statement)
        try:
            return self._cursor.execute(marked, bind(values))
        except sqlite3.OperationalError as error:
            raise LedgerUnavailable(f"the ledger cannot be used now: {error}") from error
        except OverflowError as error:
            raise UnfitValue("a number is beyond what the ledger keeps: 64 bits") from error


class SqliteDriver:
    """The ledger in a file. Each thread has its own connection; writers queue behind `BEGIN IMMEDIATE`.

    The connection of a thread that has ended is closed when the next one is opened. Whoever closes the driver waits
    for the transactions that are open: SQLite does not survive that a connection is closed while a thread uses it.
    """

    dialect = "sqlite"

    def __init__(self, path: Path, clock: Clock, *, synchronous: str = "FULL") -> None:
        self.path = path
        self.counts = Counts()
        self._clock = clock
        self._synchronous = synchronous
        self._local = threading.local()
        self._all: dict[sqlite3.Connection, tuple[threading.Thread, threading.RLock]] = {}
        self._guard = threading.Lock()
        self._watches: weakref.WeakSet[SqliteChanges] = weakref.WeakSet()
        make_private(path.parent)

    def transaction(self) -> AbstractContextManager[SqliteTransaction]:
        """Open a transaction that writes."""
        self.counts.transactions += 1
        return self._block("BEGIN IMMEDIATE")

    def reading(self) -> AbstractContextManager[SqliteTransaction]:
        """Open a transaction that only reads, and sees one moment."""
        self.counts.reads += 1
        return self._block("BEGIN DEFERRED")

    def script(self, statements: str) -> None:
        """Run a migration; the caller holds no transaction."""
        with self._held() as connection:
            try:
                connection.executescript(f"BEGIN IMMEDIATE;\n{statements}\nCOMMIT;")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def changes(self) -> SqliteChanges:
        """Answer a new watch for changes that other connections commit."""
        watch = SqliteChanges(self.path)
        with self._guard:
            self._watches.add(watch)
        return watch

    def sever(self) -> None:
        """Do nothing. A file answers, or says within its timeout that it does not."""

    def backup(self, target: Path) -> None:
        """Copy the ledger while it is in use."""
        make_private_file(target)
        with self._held() as connection, sqlite3.connect(target) as copy:
            connection.backup(copy)
        copy.close()

    def close(self) -> None:
        """Close every connection that any thread opened, each when its transaction is over, and every watch."""
        with self._guard:
            for watch in list(self._watches):
                watch.close()
            opened, self._all = self._all, {}
            self._local = threading.local()
        for connection, (_, use) in opened.items():
            with use:
                connection.close()

    @contextmanager
    def _block(self, begin: str) -> Iterator[SqliteTransaction]:
        try:
            with self._held() as connection:
                connection.execute(begin)
                try:
                    yield SqliteTransaction(connection, self._clock, self.counts)
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
        except sqlite3.OperationalError as error:
            raise LedgerUnavailable(f"the ledger {self.path} cannot be used now: {error}") from error
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.IntegrityError):
                raise
            raise LedgerError(f"the ledger {self.path} is damaged: {error}", code="LEDGER_DAMAGED") from error

    @contextmanager
    def _held(self) -> Iterator[sqlite3.Connection]:
        """Hold this thread's connection, so that nobody closes it meanwhile."""
        connection, use = self._own()
        use.acquire()
        # `close` may have come between the two lines: what it closed is in no table any more.
        while connection not in self._all:
            use.release()
            connection, use = self._own()
            use.acquire()
        try:
            yield connection
        finally:
            use.release()

    def _own(self) -> tuple[sqlite3.Connection, threading.RLock]:
        own: tuple[sqlite3.Connection, threading.RLock] | None = getattr(self._local, "own", None)
        if own is None:
            connection = _connected(self.path)
            connection.execute(f"PRAGMA synchronous={self._synchronous}")
            own = connection, threading.RLock()
            with self._guard:
                self._local.own = own
                for idle in [each for each, (owner, _) in self._all.items() if not owner.is_alive()]:
                    idle.close()
                    del self._all[idle]
                self._all[connection] = threading.current_thread(), own[1]
        return own


class SqliteChanges:
    """A watch on the file by `PRAGMA data_version`: cheap enough to look every few milliseconds while work is near.

    Whoever closes it need not be the one who waits: SQLite itself would not survive that.
    """

    def __init__(self, path: Path) -> None:
        self._connection = _connected(path)
        self._guard = threading.Lock()
        self._is_closed = False
        self._woken = threading.Event()
        self._seen = self._version()
        self._active_at = time.monotonic()

    def wait(self, seconds: float) -> bool:
        """Wait until somebody committed since the last call, at most `seconds`; False as soon as it is closed."""
        deadline = time.monotonic() + seconds
        while not self._is_closed:
            version = self._version()
            if version != self._seen:
                self._seen = version
                self._active_at = time.monotonic()
                return True
            left = deadline - time.monotonic()
            is_near = time.monotonic() - self._active_at < 2.0
            if left <= 0 or self._woken.wait(min(left, 0.004 if is_near else 0.05)):
                was_woken = self._woken.is_set()
                self._woken.clear()
                return was_woken and not self._is_closed
        return False

    def wake(self) -> None:
        """End a running wait from another thread."""
        self._woken.set()

    def close(self) -> None:
        """Close the connection and end a running wait."""
        with self._guard:
            self._is_closed = True
            self._connection.close()
        self._woken.set()

    def _version(self) -> int:
        with self._guard:
            if self._is_closed:
                return self._seen
            version: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
        return version


def _rows(cursor: sqlite3.Cursor) -> list[Row]:
    """Answer the rows as dictionaries: most columns are asked for, and `sqlite3.Row` looks for each one by one."""
    found = cursor.fetchall()
    if not found:
        return found
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in found]


_NAME = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)")
_Bind = Callable[[dict[str, Value]], tuple[Value, ...]]


@lru_cache(maxsize=2_000)
def _marked(statement: str) -> tuple[str, _Bind]:
    """Answer a statement with places instead of names, which sqlite3 binds much faster, and what goes there."""
    names = _NAME.findall(statement)
    return _NAME.sub("?", statement), itemgetter(*names) if len(names) > 1 else _few(names)


def _few(names: list[str]) -> _Bind:
    return lambda values: tuple(values[name] for name in names)


def _connected(path: Path) -> sqlite3.Connection:
    try:
        make_private_file(path)  # SQLite gives what it makes beside it, such as the WAL, the same mode
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        # A commit writes whole pages, and a step touches many a little: small ones cost less. New files only.
        connection.execute("PRAGMA page_size=2048")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA foreign_keys=ON")
        # A checkpoint copies and syncs what many commits wrote: with the usual 1,000 pages it comes every few steps.
        connection.execute("PRAGMA wal_autocheckpoint=16000")
        connection.execute("PRAGMA cache_size=-16000")
    except sqlite3.Error as error:
        is_other = path.is_dir() or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB
        hint = "check that the directory exists, is writable, and is not on a network file system"
        if is_other:
            hint = "it is something else: name another file as `ledger` under [project] in pondage.toml"
        raise LedgerUnavailable(f"the ledger {path} cannot be opened: {error}", hint=hint) from error
    return connection
