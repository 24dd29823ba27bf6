"""Streams of a run as rows: segments in a dense order, and a cursor for each reader.

Every write is guarded by the token of an execution that is still open. Whoever was fenced gets `Fenced`.
"""

from __future__ import annotations

import msgspec

from pondage.define.types.segment import Segment
from pondage.errors import LedgerError
from pondage.kernel.streams import Flight, Limits, Placed, Wait, is_full, lifted, place
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.ledger.queue.claims import Claim


class Fenced(LedgerError):
    """The execution was closed by somebody else: what it says no longer counts."""

    code = "CANCELLED"


class Stream(msgspec.Struct, frozen=True):
    """An output of an instance of a run."""

    run: int
    instance: str
    port: str


class Reader(msgspec.Struct, frozen=True):
    """An input of an instance that reads a stream."""

    stream: Stream
    instance: str
    port: str


class Cursor(msgspec.Struct, frozen=True, kw_only=True):
    """How far a reader is."""

    reader: Reader
    seq: int
    limits: Limits
    error: str | None = None
    is_waited: bool = False
    is_blocking: bool = False
    is_read: bool = False
    """Is it an execution that is open now?"""

    @property
    def edge(self) -> str:
        """Give the edge as people write it."""
        stream = self.reader.stream
        return f"{stream.instance}.{stream.port} -> {self.reader.instance}.{self.reader.port}"


def hold(tx: Transaction, claim: Claim) -> None:
    """Make sure that an execution is still ours until this transaction ends; raises `Fenced`."""
    found = tx.row(
        "SELECT id FROM executions WHERE id = :id AND token = :token AND completed_at IS NULL /*lock*/",
        id=claim.execution,
        token=claim.token,
    )
    if found is None:
        raise Fenced(f"{claim.node} was cancelled or given to another process")


def append(tx: Transaction, claim: Claim, stream: Stream, seq: int, entry: Segment) -> Placed:
    """Write an entry at its place, or say why not. Only the holder of the execution does this."""
    hold(tx, claim)
    tail, is_closed = end_of(tx, stream)
    known = find(tx, stream, seq) if seq < tail else None
    decided = place(seq, entry, tail=tail, is_closed=is_closed, known=known)
    if decided is Placed.APPENDED:
        tx.write(
            """INSERT INTO segments (run, instance, port, seq, execution, ref, rows, bytes, sha256, is_eos, created_at)
               VALUES (:run, :instance, :port, :seq, :execution, :ref, :rows, :bytes, :sha256, :is_eos, :now)""",
            **_key(stream),
            seq=seq,
            execution=claim.execution,
            ref=entry.ref,
            rows=entry.rows,
            bytes=entry.bytes,
            sha256=entry.sha256,
            is_eos=int(entry.is_eos),
        )
        tx.write(
            "UPDATE cursors SET is_blocking = 0 WHERE run = :run AND instance = :instance AND port = :port",
            **_key(stream),
        )
    return decided


def end_of(tx: Transaction, stream: Stream) -> tuple[int, bool]:
    """Answer how many entries a stream has, and whether it has ended."""
    row = tx.row(
        """SELECT seq, is_eos FROM segments WHERE run = :run AND instance = :instance AND port = :port
           ORDER BY seq DESC LIMIT 1""",
        tuple[int, bool],
        **_key(stream),
    )
    return (0, False) if row is None else (row[0] + 1, row[1])


def find(tx: Transaction, stream: Stream, seq: int) -> Segment | None:
    """Answer the entry at a place, None when it is not there yet."""
    return tx.row(
        f"SELECT {_COLUMNS} FROM segments WHERE run = :run AND instance = :instance AND port = :port AND seq = :seq",
        Segment,
        **_key(stream),
        seq=seq,
    )


def read(tx: Transaction, stream: Stream) -> list[Segment]:
    """Answer everything that is in a stream now, in order."""
    return tx.rows(
        f"""SELECT {_COLUMNS} FROM segments WHERE run = :run AND instance = :instance AND port = :port
            ORDER BY seq""",
        Segment,
        **_key(stream),
    )


def open_cursor(tx: Transaction, reader: Reader, limits: Limits) -> None:
    """Let an input read a stream from its beginning; what it had read before is forgotten."""
    tx.write(
        """INSERT INTO cursors (run, instance, port, reader, reader_port, max_rows, max_bytes)
           VALUES (:run, :instance, :port, :reader, :reader_port, :max_rows, :max_bytes)
           ON CONFLICT (run, instance, port, reader, reader_port)
           DO UPDATE SET seq = 0, execution = NULL, error = NULL, is_waited = 0, is_blocking = 0""",
        **_reader(reader),
        max_rows=limits.rows,
        max_bytes=limits.bytes,
    )


def attach(tx: Transaction, claim: Claim, reader: Reader) -> None:
    """Read a stream from its beginning in this execution: a restarted reader replays everything."""
    hold(tx, claim)
    tx.write_one(
        f"UPDATE cursors SET seq = 0, execution = :execution, is_waited = 0 WHERE {_READER}",
        **_reader(reader),
        execution=claim.execution,
    )


def move(tx: Transaction, claim: Claim, reader: Reader, seq: int) -> None:
    """Note that everything before `seq` was read."""
    hold(tx, claim)
    tx.write_one(f"UPDATE cursors SET seq = :seq, is_waited = 0 WHERE {_READER}", **_reader(reader), seq=seq)


def wait_for_more(tx: Transaction, claim: Claim, reader: Reader) -> None:
    """Note that a reader waits, so that a circle of waiting ones can be seen."""
    hold(tx, claim)
    tx.write_one(f"UPDATE cursors SET is_waited = 1 WHERE {_READER}", **_reader(reader))


def block(tx: Transaction, claim: Claim, full: list[Cursor]) -> None:
    """Note that a writer waits for these readers."""
    hold(tx, claim)
    for cursor in full:
        tx.write(f"UPDATE cursors SET is_blocking = 1 WHERE {_READER}", **_reader(cursor.reader))


def fail_input(tx: Transaction, *, run: int, instance: str, port: str, code: str) -> None:
    """Tell a reader that what it reads will not be completed."""
    tx.write(
        "UPDATE cursors SET error = :code WHERE run = :run AND reader = :reader AND reader_port = :port",
        run=run,
        reader=instance,
        port=port,
        code=code,
    )


def cursor(tx: Transaction, reader: Reader) -> Cursor:
    """Answer how far a reader is."""
    return _cursor(tx.one(f"SELECT {_CURSOR} FROM cursors c WHERE {_READER}", _CursorRow, **_reader(reader)))


def full_for(tx: Transaction, stream: Stream) -> list[Cursor]:
    """Answer the readers that the writer of a stream must wait for: none when it may go on.

    Only an execution that is open can be waited for: for anybody else segments pile up on the disk. The limit of the
    fullest edge in a circle of waiting ones does not hold.
    """
    rows = tx.rows(
        f"SELECT {_CURSOR} FROM cursors c WHERE run = :run AND instance = :instance AND port = :port",
        _CursorRow,
        **_key(stream),
    )
    found = [_cursor(row) for row in rows]
    full = [one for one in found if one.is_read and is_full(flight(tx, one), one.limits)]
    if full:
        free = lifted(_waits(tx, stream.run))
        full = [one for one in full if one.edge not in free]
    return full


def flight(tx: Transaction, at: Cursor) -> Flight:
    """Answer what a reader has not read yet."""
    return tx.one(
        """SELECT count(*) AS segments, CAST(coalesce(sum(rows), 0) AS BIGINT) AS rows,
                  CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes
           FROM segments WHERE run = :run AND instance = :instance AND port = :port AND seq >= :seq""",
        Flight,
        **_key(at.reader.stream),
        seq=at.seq,
    )


def _waits(tx: Transaction, run: int) -> list[Wait]:
    waits = []
    for row in tx.rows(
        f"SELECT {_CURSOR} FROM cursors c WHERE run = :run AND (is_waited = 1 OR is_blocking = 1)",
        _CursorRow,
        run=run,
    ):
        one = _cursor(row)
        writer, reader = one.reader.stream.instance, one.reader.instance
        if one.is_waited and one.is_read:
            waits.append(Wait(reader, writer, one.edge))
        if one.is_blocking:
            waits.append(Wait(writer, reader, one.edge, flight(tx, one).segments))
    return waits


def take_over(tx: Transaction, *, old: int, new: int, instances: list[str]) -> None:
    """Give a resumed run the streams of what it need not repeat; the files stay where they are."""
    for instance in instances:
        tx.write(
            """INSERT INTO segments (run, instance, port, seq, execution, ref, rows, bytes, sha256, is_eos, created_at)
               SELECT :new, instance, port, seq, execution, ref, rows, bytes, sha256, is_eos, created_at
               FROM segments WHERE run = :old AND instance = :instance""",
            new=new,
            old=old,
            instance=instance,
        )


_COLUMNS = "ref, rows, bytes, sha256, is_eos"
_CURSOR = """c.run, c.instance, c.port, c.reader, c.reader_port, c.seq, c.max_rows, c.max_bytes, c.error, c.is_waited,
             c.is_blocking, (SELECT count(*) FROM executions e
                             WHERE e.id = c.execution AND e.completed_at IS NULL) AS is_read"""
_READER = "run = :run AND instance = :instance AND port = :port AND reader = :reader AND reader_port = :reader_port"


def _key(stream: Stream) -> dict[str, int | str]:
    return {"run": stream.run, "instance": stream.instance, "port": stream.port}


def _reader(reader: Reader) -> dict[str, int | str]:
    return {**_key(reader.stream), "reader": reader.instance, "reader_port": reader.port}


class _CursorRow(msgspec.Struct, frozen=True, kw_only=True):
    run: int
    instance: str
    port: str
    reader: str
    reader_port: str
    seq: int
    max_rows: int | None
    max_bytes: int | None
    error: str | None
    is_waited: bool
    is_blocking: bool
    is_read: bool


def _cursor(row: _CursorRow) -> Cursor:
    return of_row(
        Cursor,
        row,
        reader=Reader(Stream(row.run, row.instance, row.port), row.reader, row.reader_port),
        limits=Limits(rows=row.max_rows, bytes=row.max_bytes),
    )
