"""Talking to the live host that owns a reactor, wherever it lives now: found in the ledger, asked over its socket."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator

import msgspec

from pondage.engine.live.reach import PONG, connect
from pondage.errors import PondageError
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import reactors
from pondage.ledger.tables.reactors import ReactorRow
from pondage.views.reactors.reactors import why_reactor

LOOK_AGAIN_S = 0.1
CHUNK_BYTES = 64 * 1024
BEATS = 4
"""So often a silent host is asked for a sign of life before it is given up."""
SOON = ("not_here", "moved", "stopped", "stopping")
"""Answers of a host that is about to give the reactor up, or has: another one owns it soon."""


class NoLiveHost(PondageError):
    """No live host answers for the reactor."""

    code = "NO_LIVE_HOST"


class Connection:
    """One connection to a live host. Raises OSError when there is none, or when it breaks."""

    def __init__(self, address: str, *, timeout_s: float | None, secret: str = "") -> None:
        self._socket = connect(address, secret, timeout_s=timeout_s)
        self._heard = bytearray()

    def send(self, frame: dict[str, object]) -> None:
        """Send a request without waiting for its answer."""
        self._socket.sendall(msgspec.json.encode(frame) + b"\n")

    def receive(self) -> dict[str, object]:
        """Wait for the next answer; after a TimeoutError it may be waited for again."""
        while b"\n" not in self._heard:
            data = self._socket.recv(CHUNK_BYTES)
            if not data:
                raise ConnectionError("the live host has closed the connection")
            self._heard += data
        line, _, rest = self._heard.partition(b"\n")
        self._heard = rest
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
                problem = ""
                try:
                    answer = self._once(row, frame, deadline_s)
                except OSError as error:
                    problem = str(error)
                else:
                    if answer.get("error") not in SOON:
                        return answer
                    problem = f"its owner answers {answer['error']}"
            if time.monotonic() >= deadline_s:
                raise _unreachable(row, problem)
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
        lease_s = self._ledger.durability.reap_after_s
        try:
            connection = Connection(row.address, timeout_s=lease_s / BEATS, secret=row.secret)
        except OSError as error:
            raise _unreachable(row, str(error)) from error
        try:
            connection.send({**_named(row), "op": "watch", **frame})
            while True:
                yield _heard(connection, row)
        except OSError:
            return
        finally:
            connection.close()

    def _once(self, row: ReactorRow, frame: dict[str, object], deadline_s: float) -> dict[str, object]:
        beat_s = min(self._patience_s, self._ledger.durability.reap_after_s / BEATS)
        connection = Connection(row.address, timeout_s=beat_s, secret=row.secret)
        try:
            number = next(self._numbers)
            connection.send({"id": number, **_named(row), **frame})
            # One request for each connection: what was no frame to the host was this one.
            while (answer := _heard(connection, row, deadline_s)).pop("id", None) != number:
                if answer.get("error") == "bad_frame":
                    break
        finally:
            connection.close()
        return answer


def _named(row: ReactorRow) -> dict[str, object]:
    return {"reactor": row.name, "environment": row.environment_name}


def _heard(connection: Connection, row: ReactorRow, deadline_s: float | None = None) -> dict[str, object]:
    """Wait for the next answer, at most until a moment; raises OSError when there is none.

    A host that is frozen closes nothing: it is asked for a sign of life, and when it is silent for the lease, another
    one owns the reactor. One that only takes its time answers that.
    """
    silent = 0
    while True:
        try:
            said = connection.receive()
        except TimeoutError:
            silent += 1
            if silent >= BEATS or (deadline_s is not None and time.monotonic() >= deadline_s):
                raise
            connection.send({**_named(row), "op": "ping"})
            continue
        silent = 0
        if said != PONG:
            return said


def _unreachable(row: ReactorRow, problem: str) -> NoLiveHost:
    where = f" (its live host is {row.where})" if row.where else ""
    reasons = {each.gate: each for each in why_reactor(row, None).reasons}
    reason = reasons.get("not started") or reasons.get("stuck")
    if reason is not None:
        # Another host would not change that.
        return NoLiveHost(f"reactor {row.name} cannot be reached: {reason.text}{where}", hint=f"pondage why {row.name}")
    return NoLiveHost(
        f"reactor {row.name} cannot be reached: {problem}{where}",
        hint=f"start a host with `pondage dev` or `pondage live`; `pondage why {row.name}` says what is wrong",
    )


def client_of(ledger: Ledger, environment: int, name: str, *, patience_s: float = 10.0) -> LiveClient:
    """Answer a client for a deployed reactor; its calls raise PondageError (NOT_LOADED) when there is none."""

    def find() -> ReactorRow:
        with ledger.reading() as tx:
            row = reactors.find(tx, environment, name)
        if row is None:
            raise PondageError(f"no reactor {name} is loaded", hint="pondage reactor list", code="NOT_LOADED")
        return row

    return LiveClient(ledger, find, patience_s=patience_s)
