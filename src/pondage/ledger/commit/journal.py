"""The journal of a reactor: one row for each group commit, guarded by epoch and number, and a full state now and then.

On PostgreSQL it is rows of the ledger (`LedgerJournal`). On SQLite it is a file of its own beside the ledger
(`FileJournal`): the workers' commits hold the ledger's write lock while the disk syncs, and nobody's event may wait for
that. What such a commit has to say to the ledger waits in the file and is carried over, in order, exactly once.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Protocol

import msgspec

from pondage.errors import LedgerError
from pondage.ledger.commit import reactor_said
from pondage.ledger.database.driver import LedgerUnavailable, number, text_or_none
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables.reactors import Lease, LedgerRow, Place
from pondage.private import make_private, make_private_file

BUSY_TIMEOUT_S = 10.0
CARRIED_AT_ONCE = 500
CHECKPOINT_BYTES = 4 << 20
"""When the file's log is so long it is copied into the file: by the carrier, because that syncs the disk."""
RESTART_BYTES = 64 << 20
"""When it is so long although it was copied, writers wait a moment so that it can begin anew."""
SYNCHRONOUS = {"process": "NORMAL", "power": "FULL"}
"""What survives: at the level `process` the death of the process, at `power` that of the machine."""


class Fenced(LedgerError):
    """Another host owns the reactor now: nothing was written, and this life is over."""

    code = "FENCED"

    def __init__(self, message: str, *, epoch: int = 0) -> None:
        super().__init__(message)
        self.epoch = epoch


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """One group commit. `is_full`: the records are the full state, and the rows before it go.

    `declaration` is given when the records are of another declaration than what came before.
    """

    seq: int
    records: bytes
    is_full: bool = False
    rows: tuple[LedgerRow, ...] = ()
    declaration: str | None = None


class Journaled(msgspec.Struct, frozen=True, kw_only=True):
    """What a journal holds: the blobs of its commits in order, the last number, and the declaration behind them.

    `seqs` are the numbers of the blobs.
    """

    seq: int
    seqs: list[int]
    blobs: list[bytes]
    declaration: str | None


class Journal(Protocol):
    """The journal of one reactor in the hands of the holder of its lease."""

    def read(self) -> Journaled:
        """Answer everything that is durable."""

    def write(self, batch: Batch) -> None:
        """Make a group durable, whole. Written once however often it is called with the same number.

        Raises `Fenced` when the lease is another's, `LedgerUnavailable` when it may or may not have been written.
        """

    def close(self) -> None:
        """Release the connection."""


class LedgerJournal:
    """The journal in the ledger itself: its rows, and what it has to say to others, are one transaction."""

    def __init__(self, ledger: Ledger, lease: Lease) -> None:
        self._ledger = ledger
        self._lease = lease

    def read(self) -> Journaled:
        """Answer everything that is durable."""
        with self._ledger.reading() as tx:
            actor = tx.row("SELECT version, state FROM actors WHERE id = :id", id=self._lease.actor)
            assert actor is not None
            rows = tx.rows(
                "SELECT seq, records FROM reactor_log WHERE reactor = :id ORDER BY seq", id=self._lease.actor
            )
        seqs = [number(row, "seq") for row in rows]
        blobs = [bytes(row["records"]) for row in rows]  # type: ignore[call-overload]
        declaration = text_or_none(actor, "state")
        return Journaled(seq=number(actor, "version"), seqs=seqs, blobs=blobs, declaration=declaration)

    def write(self, batch: Batch) -> None:
        """Make a group durable, in the order of the specification: guard, log, signals, rows for others."""
        lease = self._lease
        with self._ledger.transaction() as tx:
            # The guard locks the actor's row: whoever takes the lease comes before this group, or after all of it.
            is_ours = tx.change(
                """UPDATE actors SET version = :seq, state = coalesce(:declaration, state)
                   WHERE id = :id AND epoch = :epoch AND token = :token AND version = :before""",
                seq=batch.seq,
                declaration=batch.declaration,
                id=lease.actor,
                epoch=lease.epoch,
                token=lease.token,
                before=batch.seq - 1,
            )
            if not is_ours:
                row = tx.row("SELECT epoch, version FROM actors WHERE id = :id", id=lease.actor)
                _check_written(lease, batch, None if row is None else (number(row, "epoch"), number(row, "version")))
                return
            tx.write(
                "INSERT INTO reactor_log (reactor, seq, epoch, records) VALUES (:id, :seq, :epoch, :records)",
                id=lease.actor,
                seq=batch.seq,
                epoch=lease.epoch,
                records=batch.records,
            )
            if batch.is_full:
                tx.write("DELETE FROM reactor_log WHERE reactor = :id AND seq < :seq", id=lease.actor, seq=batch.seq)
            reactor_said.take_rows(tx, lease, batch.rows)

    def replace(self, seq: int, records: bytes) -> None:
        """Write other records into a group, for whoever repairs a journal; raises `Fenced`."""
        lease = self._lease
        with self._ledger.transaction() as tx:
            is_ours = tx.row("SELECT id FROM actors WHERE token = :token /*lock*/", token=lease.token) is not None
            if not is_ours:
                raise Fenced(f"{lease.name} is owned by another host")
            tx.write(
                "UPDATE reactor_log SET records = :records WHERE reactor = :id AND seq = :seq",
                records=records,
                id=lease.actor,
                seq=seq,
            )

    def close(self) -> None:
        """Hold nothing of its own."""


_TABLES = """
CREATE TABLE IF NOT EXISTS guard (
    id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL, declaration TEXT
);
INSERT OR IGNORE INTO guard (id, epoch) VALUES (1, 0);
CREATE TABLE IF NOT EXISTS reactor_log (seq INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, records BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS outbox (
    seq INTEGER NOT NULL, place INTEGER NOT NULL, kind TEXT NOT NULL, payload TEXT NOT NULL, PRIMARY KEY (seq, place)
);
"""


_LAST = "(SELECT coalesce(max(seq), 0) FROM reactor_log)"
_GUARDED = f"INSERT INTO reactor_log SELECT ?1, ?2, ?3 FROM guard WHERE epoch = ?2 AND {_LAST} = ?1 - 1"
"""The guard, the order and the row in one statement: the least that a commit can cost."""


class FileJournal:
    """The journal in a file. Its guard row takes the new epoch before anything is read, so an old owner is fenced.

    One thread at a time may use it; the lease's holder is the only one that writes.
    """

    def __init__(self, path: Path, lease: Lease, *, level: str) -> None:
        self.path = path
        self._lease = lease
        make_private(path.parent)
        try:
            self._connection = _opened(path, SYNCHRONOUS[level])
            run = self._connection.execute
            # Before anything is read: a commit of the owner before us is in the file by now, or finds our epoch.
            run("BEGIN IMMEDIATE")
            claimed = run("UPDATE guard SET epoch = ? WHERE epoch < ?", (lease.epoch, lease.epoch)).rowcount
            owner: int = run("SELECT epoch FROM guard").fetchone()[0]
            run("COMMIT")
        except sqlite3.Error as error:
            raise _unavailable(path, error) from error
        if not claimed and owner != lease.epoch:
            self._connection.close()
            raise Fenced(f"the journal {path} belongs to epoch {owner}, ours is {lease.epoch}", epoch=owner)

    def read(self) -> Journaled:
        """Answer everything that is durable."""
        run = self._connection.execute
        try:
            run("BEGIN")
            seq, declaration = run(f"SELECT {_LAST}, declaration FROM guard").fetchone()
            rows = run("SELECT seq, records FROM reactor_log ORDER BY seq").fetchall()
            run("COMMIT")
        except sqlite3.Error as error:
            raise self._failed(error) from error
        seqs, blobs = [row[0] for row in rows], [row[1] for row in rows]
        return Journaled(seq=seq, seqs=seqs, blobs=blobs, declaration=declaration)

    def replace(self, seq: int, records: bytes) -> None:
        """Write other records into a group, for whoever repairs a journal; raises `Fenced`."""
        statement = "UPDATE reactor_log SET records = ?2 WHERE seq = ?1 AND ?3 = (SELECT epoch FROM guard)"
        try:
            changed = self._connection.execute(statement, (seq, records, self._lease.epoch)).rowcount
        except sqlite3.Error as error:
            raise self._failed(error) from error
        if not changed:
            raise Fenced(f"the journal {self.path} belongs to another epoch than {self._lease.epoch}")

    def write(self, batch: Batch) -> None:
        """Make a group durable: guard, log, and what waits for the ledger."""
        run, row = self._connection.execute, (batch.seq, self._lease.epoch, batch.records)
        try:
            if not (batch.is_full or batch.rows or batch.declaration):
                # Most groups are this one statement, which is its own transaction.
                is_ours = run(_GUARDED, row).rowcount == 1
            else:
                run("BEGIN IMMEDIATE")
                is_ours = run(_GUARDED, row).rowcount == 1
                if is_ours:
                    self._write_rest(batch)
                run("COMMIT")
            found = None if is_ours else run(f"SELECT epoch, {_LAST} FROM guard").fetchone()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        if found is not None:
            _check_written(self._lease, batch, found)

    def _write_rest(self, batch: Batch) -> None:
        run = self._connection.execute
        if batch.is_full:
            run("DELETE FROM reactor_log WHERE seq < ?", (batch.seq,))
        if batch.declaration is not None:
            run("UPDATE guard SET declaration = ?", (batch.declaration,))
        for place, each in enumerate(batch.rows):
            run("INSERT INTO outbox VALUES (?, ?, ?, ?)", (batch.seq, place, each.kind, each.payload))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _failed(self, error: sqlite3.Error) -> LedgerUnavailable:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        return _unavailable(self.path, error)


class Carrier:
    """Brings what waits in a journal's file to the ledger, on a connection of its own: in order, and each row once.

    It also keeps the file short. One thread at a time may use it, never the loop's.
    """

    def __init__(self, path: Path, ledger: Ledger, lease: Lease) -> None:
        self.path = path
        self._ledger = ledger
        self._lease = lease
        self._connection = _opened(path, "NORMAL")

    def carry(self) -> int:
        """Bring some rows over and answer how many. What comes twice (we died before we forgot it) is known already."""
        run = self._connection.execute
        try:
            found = run(
                "SELECT seq, place, kind, payload FROM outbox ORDER BY seq, place LIMIT ?", (CARRIED_AT_ONCE,)
            ).fetchall()
            if not found:
                return 0
            placed = [(Place(seq, place), LedgerRow(kind, payload)) for seq, place, kind, payload in found]
            with self._ledger.transaction() as tx:
                reactor_said.take_placed(tx, self._lease, placed)
            # Only now: whoever dies between the two brings them again, and the ledger knows their places.
            last = placed[-1][0]
            run("DELETE FROM outbox WHERE (seq, place) <= (?, ?)", (last.seq, last.place))
        except sqlite3.Error as error:
            raise _unavailable(self.path, error) from error
        return len(found)

    def carry_all(self) -> None:
        """Bring over everything that waits: before a new life reads its signals."""
        while self.carry():
            pass

    def tidy(self) -> None:
        """Copy a long log into the file."""
        log = self.path.with_name(f"{self.path.name}-wal")
        size = log.stat().st_size if log.exists() else 0
        if size < CHECKPOINT_BYTES:
            return
        try:
            self._connection.execute(f"PRAGMA wal_checkpoint({'PASSIVE' if size < RESTART_BYTES else 'RESTART'})")
        except sqlite3.Error as error:
            raise _unavailable(self.path, error) from error

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def journal_path(ledger: Path, actor: int) -> Path:
    """Answer the file of a reactor's journal beside a SQLite ledger."""
    return journals_of(ledger) / f"{actor}.db"


def journals_of(ledger: Path) -> Path:
    """Answer the directory of all journals beside a SQLite ledger."""
    return ledger.with_name(ledger.name + ".reactors")


def _check_written(lease: Lease, batch: Batch, found: tuple[int, int] | None) -> None:
    """See whether the group was written by us before, and only its answer lost; raises Fenced when it was not."""
    if found != (lease.epoch, batch.seq):
        raise Fenced(f"{lease.name} is owned by another host: epoch and commit are {found}, ours would be "
                     f"{(lease.epoch, batch.seq)}")  # fmt: skip


def _opened(path: Path, synchronous: str) -> sqlite3.Connection:
    make_private_file(path)
    # One thread at a time uses it, but not always the same: it is opened aside, and may be written on the loop.
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={synchronous}")
    # Whichever commit made the log too long would sync the whole file, and an event would wait for it.
    connection.execute("PRAGMA wal_autocheckpoint=0")
    connection.executescript(_TABLES)
    return connection


def _unavailable(path: Path, error: sqlite3.Error) -> LedgerUnavailable:
    return LedgerUnavailable(f"the journal {path} cannot be used now: {error}")
