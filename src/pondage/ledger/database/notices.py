"""Wake-ups on PostgreSQL: whoever committed has the others told, and whoever waits listens. Hints, never the truth."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import psycopg
from psycopg import pq

from pondage.ledger.database.driver import LedgerUnavailable

CHANNEL = "pondage"
_NOTIFY = f"NOTIFY {CHANNEL}".encode()
_NOTIFY_EVERY_S = 0.002

Connection = psycopg.Connection[dict[str, object]]
Connect = Callable[[], Connection]


class Notifier:
    """Tells the others that something was committed, from a thread of its own and at most every few milliseconds.

    Never inside the transaction: a NOTIFY takes a lock that all committing transactions would queue behind.
    """

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._is_pending = threading.Event()
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._guard = threading.Lock()

    def tell(self) -> None:
        """Have the others told soon."""
        self._is_pending.set()
        if self._thread is None:
            self._start()

    def _start(self) -> None:
        with self._guard:
            if self._thread is None and not self._is_closed:
                self._thread = threading.Thread(target=self._run, name="pondage-notifier", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop telling."""
        with self._guard:
            self._is_closed = True
        self._is_pending.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _run(self) -> None:
        connection: Connection | None = None
        while True:
            self._is_pending.wait()
            if self._is_closed:
                break
            self._is_pending.clear()
            try:
                connection = connection or self._connect()
                if connection.pgconn.exec_(_NOTIFY).status != pq.ExecStatus.COMMAND_OK:
                    raise psycopg.OperationalError(connection.pgconn.get_error_message())
            except (LedgerUnavailable, psycopg.Error):
                # A hint is lost; whoever waits also polls.
                connection = None
                time.sleep(0.5)
            time.sleep(_NOTIFY_EVERY_S)
        if connection is not None:
            connection.close()


class PostgresChanges:
    """A watch on the channel that every writer notifies."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._woken, self._bell = socket.socketpair()
        self._woken.setblocking(False)
        self._bell.setblocking(False)

    def wait(self, seconds: float) -> bool:
        """Wait for a notification, at most `seconds`; without a connection, just wait."""
        deadline = time.monotonic() + seconds
        while self._woken.fileno() >= 0:
            try:
                if self._connection is None:
                    self._connection = self._connect()
                    self._connection.execute(f"LISTEN {CHANNEL}")
                    return True  # what was committed before this was not heard
                if self._has_heard(self._connection):
                    return True
                left = deadline - time.monotonic()
                if left <= 0 or self._is_woken(left, self._connection.fileno()):
                    return left > 0
            except (LedgerUnavailable, psycopg.Error):
                self._connection = None
                return self._is_woken(max(deadline - time.monotonic(), 0.0))
            except (OSError, ValueError):
                break
        return False  # it was closed

    def _has_heard(self, connection: Connection) -> bool:
        connection.pgconn.consume_input()
        has_heard = False
        while connection.pgconn.notifies() is not None:
            has_heard = True
        return has_heard

    def _is_woken(self, seconds: float, *others: int) -> bool:
        """Wait until somebody rings, or one of the others has something to read; answer whether somebody rang."""
        poll = select.poll()
        for end in (self._woken.fileno(), *others):
            poll.register(end, select.POLLIN)
        ready = {end for end, _ in poll.poll(seconds * 1000)}
        if self._woken.fileno() not in ready:
            return False
        with suppress(BlockingIOError):
            self._woken.recv(4096)
        return True

    def wake(self) -> None:
        """End a running wait from another thread."""
        with suppress(OSError):  # it has rung often enough, or nobody waits any more
            self._bell.send(b"!")

    def close(self) -> None:
        """Give the connection back."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._woken.close()
        self._bell.close()
