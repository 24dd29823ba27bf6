"""How a program reaches its worker: one set of verbs, over a socket or a broker."""

from __future__ import annotations

import socket
import threading
from typing import Protocol

import msgspec

from pondage.errors import PondageError
from pondage.program.frames import END, framed, unframed
from pondage.program.wire import ERROR, Header, receive, send


class JobDesc(msgspec.Struct, frozen=True, kw_only=True):
    """A job as it lies in a mailbox: the names of its streams by port, and its parameters."""

    inputs: dict[str, str] = {}
    outputs: dict[str, str] = {}
    panic: str = "panic"
    health: str = "health"
    stop: str = "stop"
    params: dict[str, object] = {}


class Refused(PondageError):
    """The worker did not do what a verb asked for; `code` says why. The job cannot go on."""

    code = "REFUSED"


class Transport(Protocol):
    """The verbs. `pop`, `put` and `wait_stop` wait for as long as it takes; each thread may call any of them."""

    def take(self) -> JobDesc | None:
        """Take a job, None when there are no more."""

    def pop(self, port: str) -> bytes | None:
        """Wait for the next segment of an input, None at its end."""

    def put(self, port: str, data: bytes) -> None:
        """Put a segment out; when this returns it is durable."""

    def close(self, port: str) -> None:
        """Say that an output has ended."""

    def panic(self, text: str) -> None:
        """Say that the job failed, and why."""

    def done(self) -> None:
        """Say that the job has ended: the end of its panic stream."""

    def health(self, dead_after_ms: int) -> None:
        """Say after which moment, in milliseconds since 1970, the job should be taken for dead."""

    def wait_stop(self) -> bool:
        """Wait until the job is asked to stop; False when it is over."""

    def drain(self) -> None:
        """Let `take` answer None from now on, also one that waits."""

    def end(self) -> None:
        """Let go of the worker."""


class UnixTransport:
    """The verbs over a socket; each thread has a connection of its own, so that one may wait while another works."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._local = threading.local()
        self._opened: list[socket.socket] = []
        self._is_draining = False

    def take(self) -> JobDesc | None:
        """Take a job."""
        if self._is_draining:
            return None
        found = unframed(self._ask("take"))
        return None if found is None else msgspec.json.decode(found, type=JobDesc)

    def pop(self, port: str) -> bytes | None:
        """Wait for the next segment."""
        return unframed(self._ask("pop", port))

    def put(self, port: str, data: bytes) -> None:
        """Put a segment out."""
        self._ask("put", port, framed(data))

    def close(self, port: str) -> None:
        """Say that an output has ended."""
        self._ask("close", port)

    def panic(self, text: str) -> None:
        """Say that the job failed."""
        self._ask("panic", body=framed(text.encode()))

    def done(self) -> None:
        """Say that the job has ended."""
        self._ask("panic", body=END)

    def health(self, dead_after_ms: int) -> None:
        """Say after which moment the job should be taken for dead."""
        self._ask("health", body=framed(str(dead_after_ms).encode("ascii")))

    def wait_stop(self) -> bool:
        """Wait until the job is asked to stop."""
        try:
            return unframed(self._ask("wait_stop")) is not None
        except (OSError, PondageError):
            return False

    def drain(self) -> None:
        """Take no more jobs: on a socket nobody waits for one."""
        self._is_draining = True

    def end(self) -> None:
        """Close every connection."""
        for connection in self._opened:
            connection.close()

    def _ask(self, verb: str, port: str = "", body: bytes = b"") -> bytes:
        connection = self._connection()
        send(connection, Header(verb=verb, port=port), body)
        answer = receive(connection)
        if answer is None:
            raise Refused("the worker has hung up", code="HUNG_UP")
        header, found = answer
        if header.verb == ERROR:
            raise Refused(header.message, code=header.code)
        return found

    def _connection(self) -> socket.socket:
        known: socket.socket | None = getattr(self._local, "connection", None)
        if known is None:
            known = socket.socket(socket.AF_UNIX)
            known.connect(self._path)
            self._local.connection = known
            self._opened.append(known)
        return known
