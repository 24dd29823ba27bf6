"""The ports of a component that streams, over the ledger: segments are put and taken in order, and waits are seen.

Whoever waits is parked: it keeps its thread and its place, but no slot.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from pondage.define.types.segment import END, Segment
from pondage.engine.attempt.attempt import Attempt
from pondage.errors import PondageError
from pondage.kernel.streams import Placed
from pondage.ledger.commit import stream_stops
from pondage.ledger.data import run_tables, segments
from pondage.ledger.data.segments import Fenced, Reader, Stream
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.patience import persist
from pondage.ledger.ledger import Ledger
from pondage.spark.files.segments import written
from pondage.work.component import ComponentTask, Input, Stored, Streamed

_Answer = TypeVar("_Answer")

FIRST_LOOK_S, LAST_LOOK_S = 0.002, 0.2
"""How long a wait lasts until the next look at the ledger, at first and at last."""


class StreamFailed(PondageError):
    """A stream cannot go on: its writer failed, or a replay gave something else than before."""

    code = "STREAM"


class StreamPorts:
    """The streams of one execution. A port may be used by one thread, different ports by different threads."""

    def __init__(
        self,
        ledger: Ledger,
        attempt: Attempt,
        task: ComponentTask,
        place: Callable[[str], str],
    ) -> None:
        self._ledger = ledger
        self._attempt = attempt
        self._claim = attempt.work.claim
        self._run = task.run
        self._member = task.members[-1]
        self._place = place
        self._written: dict[str, int] = {}
        self._closed: set[str] = set()
        self._read: dict[Reader, int] = {}
        self._is_over = threading.Event()
        self._overtaken: set[str] = set()
        self.was_cut = False
        """Did an input end because the attempt was asked to stop?"""

    @property
    def open_outputs(self) -> list[str]:
        """Answer the outputs that were not closed yet."""
        return [port for port in self._member.writes if port not in self._closed]

    def take(self, port: str, source: Input) -> Segment | Stored | None:
        """Wait for the next segment of a source, and answer it; None at the end, or when asked to stop.

        A table counts as one segment. Raises UPSTREAM_ERROR when the writer failed, `Fenced` when we were cancelled.
        """
        if not isinstance(source, Streamed):
            raise PondageError(f"{port} is no stream", code="BAD_INPUT")
        reader = Reader(Stream(self._run, source.instance, source.port), self._member.instance, port)
        if reader not in self._read:
            self._write(lambda tx: segments.attach(tx, self._claim, reader))
            self._read[reader] = 0
        found = self._next(reader)
        if found is None:
            pause = _Pause(self._is_over)
            with self._attempt.parked():
                self._write(lambda tx: segments.wait_for_more(tx, self._claim, reader))
                while (found := self._next(reader)) is None and not self._is_stopping():
                    pause()
        if found is None:
            self.was_cut = True
            return None
        return self._taken(reader, found)

    def _next(self, reader: Reader) -> Segment | Stored | None:
        return self._look(lambda tx: self._found(tx, reader))

    def _found(self, tx: Transaction, reader: Reader) -> Segment | Stored | None:
        cursor, seq, stream = segments.cursor(tx, reader), self._read[reader], reader.stream
        if cursor.error is not None:
            raise StreamFailed(f"{stream.instance} failed, so {reader.port} ends here", code=cursor.error)
        entry = segments.find(tx, stream, seq)
        if entry is not None or seq > 1:
            return entry
        table = run_tables.find(tx, stream.run, stream.instance, stream.port)
        if table is None:
            return None
        return END if seq == 1 else Stored(table.content)

    def _taken(self, reader: Reader, found: Segment | Stored) -> Segment | Stored | None:
        if isinstance(found, Segment) and found.is_eos:
            return None
        self._read[reader] += 1
        self._write(lambda tx: segments.move(tx, self._claim, reader, self._read[reader]))
        return found

    def put(self, port: str, data: bytes, rows: int) -> None:
        """Commit a segment, when every reader that runs has room for it.

        What an earlier attempt has committed is not written again; raises SEGMENT_MISMATCH when it was something else.
        """
        if port in self._closed:
            raise StreamFailed(f"{port} was closed, nothing can follow", code="OUTPUT_CLOSED")
        seq, digest = self._written.get(port, 0), hashlib.sha256(data).hexdigest()
        entry = Segment(rows=rows, bytes=len(data), sha256=digest)
        if self._is_overtaken(port, seq, entry):
            return
        if not self._is_known(port, seq, entry):
            self._wait_for_room(port)
            entry = written(self._place(port), seq, data, rows)
        self._append(port, seq, entry)

    def close(self, port: str) -> None:
        """Commit the end of an output. Closing twice is harmless."""
        if port not in self._closed:
            seq = self._written.get(port, 0)
            if self._is_overtaken(port, seq, END):
                seq, has_ended = self._look(lambda tx: segments.end_of(tx, self._stream(port)))
                seq -= int(has_ended)
            self._append(port, seq, END)
            self._closed.add(port)

    def _is_overtaken(self, port: str, seq: int, entry: Segment) -> bool:
        """Answer whether an earlier attempt came further than this one, which was asked to stop.

        Both are right: what was written stays, with the end behind it, and what this one gives from here on is in it.
        """
        if port not in self._overtaken and self._attempt.stopping.is_set():
            known = self._look(lambda tx: segments.find(tx, self._stream(port), seq))
            if known is not None and not known.is_same(entry):
                self._overtaken.add(port)
                told = "asked to stop before it came as far as an earlier attempt: what that wrote stays"
                self._attempt.log.write("INFO", f"{self._member.instance}.{port}: {told}")
        return port in self._overtaken

    def _is_known(self, port: str, seq: int, entry: Segment) -> bool:
        known = self._look(lambda tx: segments.find(tx, self._stream(port), seq))
        return known is not None and known.is_same(entry)

    def _append(self, port: str, seq: int, entry: Segment) -> None:
        placed = self._write(lambda tx: self._appended(tx, self._stream(port), seq, entry))
        if placed is Placed.MISMATCH:
            raise StreamFailed(
                f"segment {seq} of {self._member.instance}.{port} is not what an earlier attempt wrote",
                code="SEGMENT_MISMATCH",
                hint="a component that gives other data each time must not be declared deterministic",
            )
        assert placed is not Placed.GAP, f"segment {seq} of {port} came before its predecessor"
        self._written[port] = seq + 1

    def _appended(self, tx: Transaction, stream: Stream, seq: int, entry: Segment) -> Placed:
        placed = segments.append(tx, self._claim, stream, seq, entry)
        if placed is Placed.APPENDED:
            stream_stops.after_append(tx, self._ledger, self._claim, stream, seq, entry)
        return placed

    def _wait_for_room(self, port: str) -> None:
        stream = self._stream(port)
        if not self._full(stream):
            return
        pause = _Pause(self._is_over)
        with self._attempt.parked():
            while full := self._full(stream):
                if not all(one.is_blocking for one in full):
                    self._write(partial(segments.block, claim=self._claim, full=full))
                    continue
                self._check_held()
                pause()

    def _full(self, stream: Stream) -> list[segments.Cursor]:
        return self._look(lambda tx: segments.full_for(tx, stream))

    def _stream(self, port: str) -> Stream:
        return Stream(self._run, self._member.instance, port)

    def _write(self, act: Callable[[Transaction], _Answer]) -> _Answer:
        """Write in one transaction, again until the database answers: every write may be repeated."""

        def once() -> _Answer:
            with self._ledger.transaction() as tx:
                return act(tx)

        return persist(once, give_up=self._is_gone)

    def _look(self, act: Callable[[Transaction], _Answer]) -> _Answer:
        def once() -> _Answer:
            with self._ledger.reading() as tx:
                return act(tx)

        return persist(once, give_up=self._is_gone)

    def _is_gone(self) -> bool:
        return self._attempt.taken_away is not None or self._attempt.is_settled or self._is_over.is_set()

    def _is_stopping(self) -> bool:
        self._check_held()
        return self._attempt.stopping.is_set()

    def _check_held(self) -> None:
        if self._is_gone():
            raise Fenced(f"{self._claim.node} was cancelled or given to another process")

    def end(self) -> None:
        """Let every wait of another thread end: the execution is over."""
        self._is_over.set()


class _Pause:
    """Waits a little longer each time: what comes soon is seen soon, and a long wait costs nothing."""

    def __init__(self, over: threading.Event) -> None:
        self._over = over
        self._s = FIRST_LOOK_S

    def __call__(self) -> None:
        self._over.wait(self._s)
        self._s = min(LAST_LOOK_S, self._s * 1.5)
