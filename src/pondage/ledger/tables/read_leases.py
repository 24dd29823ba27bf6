"""Read leases: what a process outside of the queue reads just now, so that retention leaves it alone.

A process has one row with its heartbeat, so a question about what it has leased already writes nothing. It goes with
the process; what is held for a time (`hold`) stays until then.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

import msgspec

from pondage.errors import LedgerError
from pondage.ledger.database.driver import Transaction

LINGER_BEATS = 12
"""So many beats a lease outlives its last reader: who asks again writes nothing."""

_log = logging.getLogger(__name__)

_ALIVE = "((boot = :boot AND alive_until > :beat) OR (held_until IS NOT NULL AND held_until > :now))"


def leased(tx: Transaction) -> set[int]:
    """Answer the snapshots that somebody reads, as far as his process is alive or he holds them."""
    rows = tx.rows(f"SELECT snapshots FROM read_leases WHERE {_ALIVE}", list[int], boot=tx.boot, beat=tx.beat)
    return {one for some in rows for one in some}


def has_dead(tx: Transaction) -> bool:
    """Answer whether there is a lease whose process is gone."""
    return tx.row(f"SELECT id FROM read_leases WHERE NOT {_ALIVE} LIMIT 1", boot=tx.boot, beat=tx.beat) is not None


def reap(tx: Transaction) -> int:
    """Delete the leases of processes that are gone, and those that were held long enough; count them."""
    return tx.change(f"DELETE FROM read_leases WHERE NOT {_ALIVE}", boot=tx.boot, beat=tx.beat)


def hold(tx: Transaction, holder: str, snapshots: Iterable[int], *, for_us: int) -> None:
    """Keep snapshots for so long, whatever becomes of the process that asks."""
    _write(tx, holder, snapshots, alive_until=0, held_until=tx.now + for_us)


def _write(tx: Transaction, holder: str, snapshots: Iterable[int], *, alive_until: int, held_until: int | None) -> int:
    return tx.insert(
        """INSERT INTO read_leases (holder, snapshots, boot, alive_until, held_until)
           VALUES (:holder, :snapshots, :boot, :alive_until, :held_until)""",
        holder=holder,
        snapshots=_text(snapshots),
        boot=tx.boot,
        alive_until=alive_until,
        held_until=held_until,
    )


def _text(snapshots: Iterable[int]) -> str:
    return msgspec.json.encode(sorted(set(snapshots))).decode()


class ReadLeases:
    """What this process reads. Safe to use from several threads; a thread beats while there is anything."""

    def __init__(
        self,
        transaction: Callable[[], AbstractContextManager[Transaction]],
        *,
        every_s: float,
        lasts_s: float,
        pause: Callable[[float], bool] | None = None,
    ) -> None:
        self._transaction = transaction
        self._every_s = every_s
        self._lasts_us = int(lasts_s * 1_000_000)
        self._stopped = threading.Event()
        self._pause = pause or self._stopped.wait
        self._lock = threading.Lock()
        self._readers: Counter[int] = Counter()
        self._beats_left: dict[int, int] = {}
        self._row: int | None = None
        self._thread: threading.Thread | None = None
        self.holder = f"r{uuid.uuid4().hex[:16]}"

    @contextmanager
    def reading(self, snapshots: Iterable[int]) -> Iterator[None]:
        """Keep snapshots while the block runs, and a little longer; raises `LedgerError` when that cannot be said."""
        wanted = set(snapshots)
        with self._lock:
            is_new = not wanted <= self._beats_left.keys()
            self._readers.update(wanted)
            self._beats_left.update(dict.fromkeys(wanted, LINGER_BEATS))
            try:
                if is_new:
                    self._renew()
            except BaseException:
                self._readers.subtract(wanted)
                raise
            if self._thread is None and not self._stopped.is_set():
                self._thread = threading.Thread(target=self._run, name="read leases", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._readers.subtract(wanted)

    def beat(self) -> None:
        """Say that this process is alive, and leave what nobody has read for some time."""
        with self._lock:
            for each in list(self._beats_left):
                if self._readers[each] > 0:
                    self._beats_left[each] = LINGER_BEATS
                else:
                    self._beats_left[each] -= 1
                    if self._beats_left[each] <= 0:
                        del self._beats_left[each], self._readers[each]
            self._renew()

    def close(self) -> None:
        """Give everything back that is not held for a time."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout=5.0)
        with self._lock:
            self._beats_left.clear()
            try:
                self._renew()
            except (LedgerError, OSError) as error:
                _log.warning("the read lease goes with the process: %s", error)

    def _renew(self) -> None:
        if self._row is None and not self._beats_left:
            return
        with self._transaction() as tx:
            if not self._beats_left:
                tx.change("DELETE FROM read_leases WHERE id = :id", id=self._row)
                row = None
            elif self._row is None or not self._extend(tx):
                # The first one, or a reaper has taken us for dead meanwhile.
                row = _write(tx, self.holder, self._beats_left, alive_until=tx.beat + self._lasts_us, held_until=None)
            else:
                row = self._row
        self._row = row

    def _extend(self, tx: Transaction) -> bool:
        changed = tx.change(
            """UPDATE read_leases SET snapshots = :snapshots, boot = :boot, alive_until = :until WHERE id = :id""",
            snapshots=_text(self._beats_left),
            boot=tx.boot,
            until=tx.beat + self._lasts_us,
            id=self._row,
        )
        return changed == 1

    def _run(self) -> None:
        while not self._pause(self._every_s):
            try:
                self.beat()
            except (LedgerError, OSError) as error:
                _log.warning("the read lease was not renewed: %s", error)
