"""Talking to the live host that owns a reactor, wherever it lives now: found in the ledger, asked over its socket."""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Callable, Iterator

import msgspec

from pondage.errors import PondageError
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import reactors
from pondage.ledger.tables.reactors import ReactorRow

LOOK_AGAIN_S = 0.1
SOON = ("not_here", "moved", "stopped", "stopping")
"""Answers of a host that is about to give the reactor up, or has: another one owns it soon."""


class NoLiveHost(PondageError):
    """No live host answers for the reactor."""

    code = "NO_LIVE_HOST"


class Connection:
    """One connection to a live host. Raises OSError when there is none, or when it breaks."""

    def __init__(self, address: str, *, timeout_s: float | None) -> None:
        scheme, _, path = address.partition(":")
        if scheme != "unix":
            raise OSError(f"the address {address!r} is not understood")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(timeout_s)
            self._socket.connect(path)
        except OSError:
            self._socket.close()
            raise
        self._file = self._socket.makefile("rwb")

    def send(self, frame: dict[str, object]) -> None:
        """Send a request without waiting for its answer."""
        self._file.write(msgspec.json.encode(frame) + b"\n")
        self._file.flush()

    def receive(self) -> dict[str, object]:
        """Wait for the next answer."""
        line = self._file.readline()
        if not line.endswith(b"\n"):
            raise ConnectionError("the live host has closed the connection")
        return msgspec.json.decode(line, type=dict[str, object])

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


class LiveClient:
    """Asks the owner of one reactor. When it dies or moves, whoever owns it next is asked, for at most `patience_s`.

    An answer that was lost is asked for again: a command under its own cid is done once, a push may be accepted twice.
    """

    def __init__(
        self,
        ledger: Ledger,
        find: Callable[[], ReactorRow],
        *,
        patience_s: float = 10.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._ledger = ledger
        self._find = find
        self._patience_s = patience_s
        self._sleep = sleep
        self._numbers = itertools.count(1)

    def ask(self, **frame: object) -> dict[str, object]:
        """Send one request and answer what came back; raises NoLiveHost."""
        deadline_s = time.monotonic() + self._patience_s
        while True:
            row = self._find()
            problem = "no live host owns it"
            if row.address:
                try:
                    answer = self._once(row, frame)
                except OSError as error:
                    problem = str(error)
                else:
                    if answer.get("error") not in SOON:
                        return answer
                    problem = f"its owner answers {answer['error']}"
            if time.monotonic() >= deadline_s:
                raise NoLiveHost(
                    f"reactor {row.name} cannot be reached: {problem}",
                    hint="start a host with `pondage dev` or `pondage live`; `pondage why` says what is wrong",
                )
            self._sleep(LOOK_AGAIN_S)

    def look(self, what: str) -> object:
        """Answer the `state` or the `dead` letters; raises `PondageError` with the reason when the owner cannot."""
        answer = self.ask(op=what)
        if what not in answer:
            code = str(answer.get("error", "INTERNAL"))
            reason = str(answer.get("message", code))
            raise PondageError(f"the live host cannot answer: {reason}", hint="look at its log", code=code.upper())
        return answer[what]

    def watch(self, **frame: object) -> Iterator[dict[str, object]]:
        """Answer what the reactor does, until its host goes away; raises NoLiveHost."""
        row = self._find()
        try:
            connection = Connection(row.address, timeout_s=None)
        except OSError as error:
            raise NoLiveHost(f"reactor {row.name} cannot be reached: {error}", hint="pondage dev") from error
        try:
            connection.send({"reactor": row.name, "environment": row.environment_name, "op": "watch", **frame})
            while True:
                yield connection.receive()
        except OSError:
            return
        finally:
            connection.close()

    def _once(self, row: ReactorRow, frame: dict[str, object]) -> dict[str, object]:
        connection = Connection(row.address, timeout_s=self._patience_s)
        try:
            number = next(self._numbers)
            connection.send({"id": number, "reactor": row.name, "environment": row.environment_name, **frame})
            while (answer := connection.receive()).pop("id", None) != number:
                pass
        finally:
            connection.close()
        return answer


def client_of(ledger: Ledger, environment: int, name: str, *, patience_s: float = 10.0) -> LiveClient:
    """Answer a client for a deployed reactor; its calls raise PondageError (NOT_LOADED) when there is none."""

    def find() -> ReactorRow:
        with ledger.reading() as tx:
            row = reactors.find(tx, environment, name)
        if row is None:
            raise PondageError(f"no reactor {name} is loaded", hint="pondage reactor list", code="NOT_LOADED")
        return row

    return LiveClient(ledger, find, patience_s=patience_s)
