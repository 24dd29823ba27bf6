"""The local socket of a live host: pushes and commands, answered when what they did is durable."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import secrets
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from pondage.engine.live.owned import OwnedReactor
from pondage.engine.live.reach import GREETING_S, PONG, Address, Listening, fingerprint_of
from pondage.engine.live.reach import is_welcome as greeted
from pondage.engine.process.places import LONGEST_SOCKET_PATH, socket_place
from pondage.errors import PondageError
from pondage.kernel.reaction import Effect
from pondage.kernel.reaction.effects import Fired, Health, RecoveryNote, SourceHealth
from pondage.private import make_private

MOST_BYTES = 16 << 20
"""How long a line may be."""
RETRY_AFTER_US = 1_000_000
"""When to ask again where the owner is."""


class Frame(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request. A push names a source; a command may carry a `cid` of its own, under which it is done once."""

    op: Literal["push", "command", "state", "dead", "watch", "ping"]
    reactor: str
    environment: str = "main"
    id: str | int | None = None
    source: str | None = None
    value: msgspec.Raw = msgspec.Raw(b"null")
    f: int | None = None
    cid: str | None = None
    command: str | None = None
    arg: msgspec.Raw = msgspec.Raw(b"null")


_frames = msgspec.json.Decoder(Frame)


def read_frame(line: bytes) -> Frame:
    """Give the frame of a line; raises msgspec.DecodeError."""
    try:
        return _frames.decode(line)
    except RecursionError:
        raise msgspec.DecodeError("it is nested too deeply") from None


def line_of(answer: dict[str, object]) -> bytes:
    """Give an answer as a line."""
    return msgspec.json.encode(answer) + b"\n"


_log = logging.getLogger(__name__)
WATCH_EVERY_S = 0.25
MOST_PORTS = 64
"""So many ports from the one of the settings on are tried."""
MOST_GREETINGS = 16
"""So many may be saying who they are at the same time."""
Find = Callable[[str, str], OwnedReactor | None]
Send = Callable[[dict[str, object] | None], None]
"""Answer something; None: hang up."""


class LiveSocket:
    """A unix socket that only this user can open, and when told to a port for other machines, which must know a secret.

    Requests of one connection may overtake each other; ids tell.
    """

    def __init__(self, folder: Path, name: str, find: Find, *, listening: Listening | None = None) -> None:
        self._find = find
        self._listening = listening
        self._name = name
        self._far: asyncio.Server | None = None
        self._place: Address | None = None
        self._greeting = 0
        self.secret = "" if listening is None else secrets.token_hex(32)
        """What whoever comes from another machine must know; it is in the ledger."""
        self.path = folder / f"{name}.sock"
        self._own_folder: Path | None = None
        if len(os.fsencode(self.path)) > LONGEST_SOCKET_PATH:
            prefix = "pondage-live-"
            self._own_folder = Path(tempfile.mkdtemp(prefix=prefix, dir=socket_place(len(f"{prefix}abcdefgh/sock"))))
            self.path = self._own_folder / "sock"
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> str:
        """Answer what the process row says."""
        return (self._place or Address(str(self.path))).text()

    async def open(self) -> None:
        """Begin to listen."""
        make_private(self.path.parent)
        self.path.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            self._server = await asyncio.start_unix_server(self._serve, self.path, limit=MOST_BYTES)
        finally:
            os.umask(before)
        if self._listening is not None:
            await self._open_far(self._listening)

    async def _open_far(self, listening: Listening) -> None:
        from pondage.connect.certificate import new_certificate  # most hosts need none

        context, certificate = new_certificate(self._name)
        fingerprint = fingerprint_of(certificate)

        async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._greet(reader, writer, fingerprint)

        for port in range(listening.port, listening.port + MOST_PORTS):
            try:
                self._far = await asyncio.start_server(
                    greet, listening.host, port, limit=MOST_BYTES, ssl=context, ssl_handshake_timeout=GREETING_S
                )
            except OSError as error:
                # Every live host of a machine has a port of its own: the next one is tried.
                if error.errno != errno.EADDRINUSE or port == listening.port + MOST_PORTS - 1:
                    raise
            else:
                break
        assert self._far is not None
        port = self._far.sockets[0].getsockname()[1]
        self._place = Address(str(self.path), listening.host, port, fingerprint)

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, fingerprint: str) -> None:
        if self._greeting >= MOST_GREETINGS:
            writer.close()
            return
        self._greeting += 1
        try:
            is_welcome = await greeted(reader, writer, secret=self.secret, fingerprint=fingerprint)
        finally:
            self._greeting -= 1
        if is_welcome:
            await self._serve(reader, writer)
        else:
            _log.warning("%s does not know the secret of this ledger", writer.get_extra_info("peername"))
            writer.close()

    async def close(self) -> None:
        """Stop listening; whoever waits for an answer gets none."""
        for server in (self._server, self._far):
            if server is not None:
                server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.path.unlink(missing_ok=True)
        if self._own_folder is not None:
            self._own_folder.rmdir()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        own: set[asyncio.Task[None]] = set()

        def send(answer: dict[str, object] | None) -> None:
            if answer is None:
                writer.close()
            elif not writer.is_closing():
                writer.write(line_of(answer))

        try:
            while line := await reader.readline():
                # In order of arrival into the machine, without waiting for each other's commits.
                task = asyncio.get_running_loop().create_task(self._answer(line, send))
                for tasks in (own, self._tasks):
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
                await writer.drain()
        except (ConnectionError, ValueError):
            pass  # Gone, or a line without an end: there is nobody to tell.
        finally:
            for task in own:
                task.cancel()
            writer.close()

    async def _answer(self, line: bytes, send: Send) -> None:
        try:
            frame = read_frame(line)
        except msgspec.DecodeError as error:
            send({"id": None, "accepted": False, "error": "bad_frame", "message": str(error)})
            return
        owned = self._find(frame.environment, frame.reactor)
        if frame.op == "ping":
            send(None if owned is None or owned.is_lost else PONG)
            return
        if owned is None or owned.is_lost:
            send({"id": frame.id, "accepted": False, "error": "not_here", "retry_after": RETRY_AFTER_US})
            if frame.op == "watch":
                send(None)
            return
        try:
            if frame.op == "watch":
                await _watch(owned, frame, send)
            else:
                send({"id": frame.id, **await _done(owned, frame)})
        except PondageError as error:
            send({"id": frame.id, "accepted": False, "error": error.code, "message": error.message})
        except msgspec.DecodeError as error:
            send({"id": frame.id, "accepted": False, "error": "invalid", "message": str(error)})
        except Exception:  # noqa: BLE001 - logged, and whoever asked waits for an answer
            _log.exception("%s of reactor %s failed", frame.op, frame.reactor)
            message = "the log of the live host says why"
            send({"id": frame.id, "accepted": False, "error": "INTERNAL", "message": message})


async def _done(owned: OwnedReactor, frame: Frame) -> dict[str, object]:
    if frame.op == "state":
        return {"state": owned.state()}
    if frame.op == "dead":
        return {"dead": owned.dead()}
    if frame.op == "push":
        ack = await owned.push(frame.source or "", msgspec.json.decode(frame.value), f=frame.f)
        said = {name: value for name, value in msgspec.structs.asdict(ack).items() if value not in (None, False)}
        return {"accepted": ack.accepted, **said}
    argument = msgspec.json.decode(frame.arg)
    if frame.command == "fire_with" and isinstance(argument, dict):
        argument = owned.checked(argument)
    return {"reply": await owned.command(frame.command or "", argument, cid=frame.cid)}


async def _watch(owned: OwnedReactor, frame: Frame, send: Send) -> None:
    """Say what happens until the caller goes: health at once, fires as a number, at most four times a second.

    When this life ends we hang up: whoever comes back finds the next one, here or elsewhere.
    """
    host, fired, last = owned.host, 0, ""

    def look(effect: Effect) -> None:
        nonlocal fired, last
        match effect:
            case Fired(outcome=outcome):
                fired, last = fired + 1, outcome
            case Health(state, sources):
                send({"id": frame.id, "health": state, "sources": sources})
            case SourceHealth(source, health):
                send({"id": frame.id, "source": source, "health": health})
            case RecoveryNote(component, attempt, backoff):
                send({"id": frame.id, "recovery": component, "attempt": attempt, "backoff": backoff})

    host.watchers.append(look)
    try:
        send({"id": frame.id, "state": owned.state()})
        while not host.stopped.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(WATCH_EVERY_S):
                    await host.stopped.wait()
            if fired:
                send({"id": frame.id, "fired": fired, "last": last})
                fired = 0
        send(None)
    finally:
        host.watchers.remove(look)
