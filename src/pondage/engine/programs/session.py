"""One execution of an external program, as the verbs of its transport see it. The ledger is the truth behind them."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable

import msgspec

from pondage.define.types.port import ANY_TABLE
from pondage.define.types.types import is_ordered
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.stream_ports import StreamPorts
from pondage.errors import PondageError
from pondage.program.frames import END, FrameError, framed, milliseconds, unframed
from pondage.program.transport import JobDesc
from pondage.spark.component.segment_types import accepted_rows, checked_rows, port_type
from pondage.spark.files.segments import DecodeError, packed, read_bytes, unpacked, without_numbers
from pondage.work.component import ComponentTask, Input, Program, Stored, Streamed

STREAM_BITS = 128


class ProgramSession:
    """What a program may do. Every verb raises `PondageError`; the first one is what the execution fails of.

    `table` turns a table that a component wrote into the bytes of one segment.
    """

    def __init__(
        self, attempt: Attempt, task: ComponentTask, streams: StreamPorts, table: Callable[[Stored, str], bytes]
    ) -> None:
        member = task.members[-1]
        assert member.program is not None
        self.program: Program = member.program
        self.outputs = member.writes
        self._types = {port: port_type(text, self.program.vars) for port, text in self.program.outputs.items()}
        self._attempt = attempt
        self._member = member
        self._streams = streams
        self._table = table
        self._sources = {port: list(found) for port, found in member.inputs.items()}
        self._lock = threading.Lock()
        self._has_taken = False
        self.failure: PondageError | None = None
        self.is_cut = False
        """Has it learned that it should stop?"""
        self.is_done = False
        """Has the program said that it has ended this job?"""
        self.over = threading.Event()
        """Set when the execution has ended: whoever waits for a stop hears that there will be none."""

    @property
    def inputs(self) -> list[str]:
        """Answer the connected inputs."""
        return sorted(self._sources)

    @property
    def open_outputs(self) -> list[str]:
        """Answer the outputs that somebody reads and that are not closed."""
        return self._streams.open_outputs

    def description(self) -> JobDesc:
        """Answer the job as its mailbox holds it."""
        token = self._attempt.token
        return JobDesc(
            inputs={port: stream_name(token, f"in {port}") for port in self.inputs},
            outputs={port: stream_name(token, f"out {port}") for port in self.outputs},
            panic=stream_name(token, "panic"),
            health=stream_name(token, "health"),
            stop=stream_name(token, "stop"),
            params=self._member.params,
        )

    def take(self) -> bytes:
        """Answer the job the first time, and then that there are no more."""
        with self._lock:
            has_taken, self._has_taken = self._has_taken, True
        return END if has_taken else framed(msgspec.json.encode(self.description()))

    def pop(self, port: str) -> bytes:
        """Wait for the next segment of an input and answer it as a frame, `0x01` at the end."""
        if port not in self._sources:
            raise self._failed(PondageError(f"{self._member.instance} has no input {port!r}", code="UNKNOWN_PORT"))
        try:
            found = self._next(port)
        except PondageError as error:
            raise self._failed(error) from None
        self.is_cut = self.is_cut or self._streams.was_cut
        return END if found is None else framed(found)

    def _next(self, port: str) -> bytes | None:
        """Answer the next segment; several sources of one port follow one another."""
        sources = self._sources[port]
        while sources:
            found = self._next_of(port, sources[0])
            if found is not None:
                return found
            sources.pop(0)
        return None

    def _next_of(self, port: str, source: Input) -> bytes | None:
        if not isinstance(source, Streamed):
            raise PondageError(f"{port}: only outputs of components can be fed to a program", code="BAD_INPUT")
        found = self._streams.take(port, source)
        if found is None:
            return None
        type_ = self.program.inputs.get(port, ANY_TABLE)
        data = self._table(found, type_) if isinstance(found, Stored) else read_bytes(found)
        if not type_.startswith(("Table", "Stream")):
            return data
        if not is_ordered(type_):
            data = without_numbers(data)
        return accepted_rows(data, port_type(type_, self.program.vars)) if port in self.program.accepts else data

    def put(self, port: str, frame: bytes) -> None:
        """Commit a segment, or with `0x01` the end of an output. When this returns it is durable."""
        try:
            self._check_output(port)
            data = unframed(frame)
            if data is None:
                self._streams.close(port)
            elif port in self.outputs:
                if self._types[port].is_ordered:
                    data, _ = packed(unpacked(data, in_order=True), in_order=True)
                self._streams.put(port, data, checked_rows(data, self._types[port]))
        except (FrameError, DecodeError) as error:
            told = f"{self._member.instance}.{port}: {error.message}"
            raise self._failed(PondageError(told, code="DECODE_ERROR")) from None
        except PondageError as error:
            raise self._failed(error) from None

    def close(self, port: str) -> None:
        """Commit the end of an output."""
        self.put(port, END)

    def _check_output(self, port: str) -> None:
        if port not in self.program.outputs:
            raise PondageError(f"{self._member.instance} has no output {port!r}", code="UNKNOWN_PORT")

    def panic(self, frame: bytes) -> None:
        """Let the execution fail of what the program says; the end of this stream is the end of the job."""
        try:
            data = unframed(frame)
        except FrameError as error:
            raise self._failed(error) from None
        if data is None:
            self.is_done = True
        else:
            text = data.decode("utf-8", "replace")
            self._failed(PondageError(text or "the program panicked", code="Panic"))

    def health(self, frame: bytes, *, now_ms: float) -> None:
        """Note until when the program is well. `now_ms` is the sender's clock: only the difference counts here."""
        try:
            for_s = (milliseconds(unframed(frame)) - now_ms) / 1000
        except FrameError as error:
            raise self._failed(error) from None
        self._attempt.be_healthy(for_s)

    def wait_stop(self) -> bytes:
        """Wait until the program should stop and answer a frame; `0x01` when its execution is over."""
        while not self.over.is_set():
            if self._attempt.stopping.wait(0.1):
                self.is_cut = True
                return framed(b"")
        return END

    def refuse(self, error: PondageError) -> None:
        """Let the execution fail of something that is no message at all."""
        self._failed(error)

    def end(self) -> None:
        """End every wait."""
        self.over.set()
        self._streams.end()

    def _failed(self, error: PondageError) -> PondageError:
        with self._lock:
            self.failure = self.failure or error
        return error


def stream_name(token: str, what: str) -> str:
    """Answer the name of a stream: the first 128 bits of a hash, so that nobody can guess or confuse it."""
    return hashlib.sha256(f"{token} {what}".encode()).hexdigest()[: STREAM_BITS // 4]
