"""Writing the read log aside from the answers: in groups, at most one small transaction a second and process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from pondage.define.values.names import PondKey
from pondage.errors import LedgerError
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import reads
from pondage.ledger.tables.reads import MINUTE_US, Door, ReadKey, Sum

EVERY_S = 1.0
MOST_KEYS = 10_000
"""While the ledger does not answer no more than so many rows are remembered: it is a statistic."""

_log = logging.getLogger(__name__)

Listener = Callable[[Transaction, Mapping[ReadKey, Sum], frozenset[int]], None]
"""Is told what a transaction writes, and which Runs were read for the first time, in that transaction."""


class ReadLog:
    """The reads of one process, until they are written. Safe to use from several threads.

    Whoever answers calls `note` and waits for nothing. A thread writes; a crash loses at most what came in the last
    second. `listeners` are told of each group in the transaction that writes it.
    """

    def __init__(
        self,
        transaction: Callable[[], AbstractContextManager[Transaction]],
        *,
        pause: Callable[[float], bool] | None = None,
    ) -> None:
        self.listeners: list[Listener] = []
        self._transaction = transaction
        self._stopped = threading.Event()
        self._pause = pause or self._stopped.wait
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._sums: dict[ReadKey, Sum] = {}
        self._runs: set[int] = set()
        self._known: set[int] = set()
        self._noted = threading.Event()
        self._thread: threading.Thread | None = None

    def note(
        self, *, environment: int, pond: PondKey, run: int, door: Door, reader: str, at: int, age: int, size: int
    ) -> None:
        """Remember that somebody read a Run of a Pond at a moment: how old it was, and how large what was read."""
        key = ReadKey(environment, pond, at // MINUTE_US, door, reader)
        with self._lock:
            before = self._sums.get(key)
            if before is not None or len(self._sums) < MOST_KEYS:
                self._sums[key] = (before or Sum()).plus(Sum(1, size, max(0, age)))
            if run not in self._known and len(self._runs) < MOST_KEYS:
                self._runs.add(run)
            if self._thread is None:
                self._thread = threading.Thread(target=self._write, name="read log", daemon=True)
                self._thread.start()
        self._noted.set()

    def flush(self) -> None:
        """Write what was noted, now; raises `LedgerError`, and then nothing is forgotten."""
        with self._writing:
            self._flush()

    def _flush(self) -> None:
        with self._lock:
            sums, runs = self._sums, self._runs
            self._sums, self._runs = {}, set()
        if not sums and not runs:
            return
        try:
            with self._transaction() as tx:
                first = reads.record(tx, sums, runs)
                for listener in self.listeners:
                    listener(tx, sums, first)
        except LedgerError:
            self._take_back(sums, runs)
            raise
        with self._lock:
            if len(self._known) > MOST_KEYS:
                self._known.clear()
            self._known |= runs

    def close(self) -> None:
        """Write what is left, and end. What cannot be written is lost, and said."""
        self._stopped.set()
        self._noted.set()
        if self._thread is not None:
            self._thread.join(timeout=5.0)
        self._try()

    def _take_back(self, sums: dict[ReadKey, Sum], runs: set[int]) -> None:
        with self._lock:
            for key, each in sums.items():
                if key in self._sums or len(self._sums) < MOST_KEYS:
                    self._sums[key] = self._sums.get(key, Sum()).plus(each)
            self._runs |= runs

    def _write(self) -> None:
        while not self._stopped.is_set():
            self._noted.wait()
            self._noted.clear()
            if not self._try():
                self._noted.set()
            # The next group gathers meanwhile: this is what bounds the transactions.
            if self._pause(EVERY_S):
                return

    def _try(self) -> bool:
        try:
            self.flush()
        except (LedgerError, OSError) as error:
            _log.warning("the read log was not written: %s", error)
            return False
        return True
