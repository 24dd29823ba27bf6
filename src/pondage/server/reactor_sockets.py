"""WebSockets of reactors: pushes and commands go to the live host that owns one, and what it says comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import anyio
import msgspec
from anyio.to_thread import run_sync
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from pondage.errors import PondageError
from pondage.ledger.tables.reactors import ReactorRow
from pondage.operations.operation import Level, Moment
from pondage.operations.reactors import (
    COMMANDS,
    PONG,
    ShortId,
    connected,
    reactor_command,
    reactor_push,
    reactor_watch,
    told,
)
from pondage.server.audit import heard, refused
from pondage.server.call import Call, Socket
from pondage.server.problems import Refused, has_zero, problem_of
from pondage.views.reactors.reactors import reactor_row

RESTARTED = 1012
"""The owner has gone: come back, and the next one is found."""
MOST_BYTES = 16 << 20
BEATS = 4
"""So often in the time of a lease a live host is asked for a sign of life."""
PONG_LINE = msgspec.json.encode(PONG) + b"\n"


class PushFrame(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`{id, value, f?}` of a client. The value is decoded: handed on as it is written, its lines would be requests."""

    id: ShortId | Moment
    value: object
    f: Moment | None = None


class CommandFrame(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`{cid, command, arg?}` of a client."""

    cid: ShortId
    command: str
    arg: object = None


class _Owner:
    """A connection to the live host that owns a reactor."""

    def __init__(self, row: ReactorRow, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._row = row
        self._reader = reader
        self._writer = writer

    async def send(self, **frame: object) -> None:
        """Send a request without waiting for its answer; a host that is slow makes its clients wait here."""
        named = {"reactor": self._row.name, "environment": self._row.environment_name, **frame}
        self._writer.write(msgspec.json.encode(named) + b"\n")
        await self._writer.drain()

    async def relay(self, socket: WebSocket, *, lease_s: float) -> None:
        """Hand on what the host says until it goes away, or is silent for the lease: then another one owns it."""
        while True:
            with anyio.move_on_after(lease_s) as patience:
                line = await self._reader.readline()
            if patience.cancelled_caught or not line:
                return
            if line != PONG_LINE:
                await socket.send_text(line.decode().rstrip("\n"))

    async def ping(self, *, every_s: float) -> None:
        """Ask for a sign of life again and again: a host that is frozen closes no connection."""
        with suppress(OSError):
            while True:
                await anyio.sleep(every_s)
                await self.send(op="ping")


_One = Callable[[_Owner, str], Awaitable[dict[str, object] | None]]
"""What is done with one message of a client; an answer is sent at once."""


async def push(call: Call, socket: WebSocket) -> None:
    """Take `{id, value, f?}` and answer each when it is durable, in any order: the ids tell."""

    async def one(owner: _Owner, data: str) -> dict[str, object] | None:
        frame = msgspec.json.decode(data, type=PushFrame)
        hear = partial(heard, call, "push", reactor_push.verb, "/".join(call.path.values()))
        await run_sync(hear) if call.service.is_all_audited else hear()
        extra: dict[str, object] = {} if frame.f is None else {"f": frame.f}
        await owner.send(op="push", id=frame.id, source=call.path["source"], value=frame.value, **extra)
        return None

    await _relayed(call, socket, one, is_watching=False)


async def command(call: Call, socket: WebSocket) -> None:
    """Take `{cid, command, arg?}`, answer each, and say health and fires as they come."""
    assert call.token is not None
    may_command = Level.named(call.token.level) >= Level.OPERATE

    async def one(owner: _Owner, data: str) -> dict[str, object] | None:
        frame = msgspec.json.decode(data, type=CommandFrame)
        if not may_command or frame.command not in COMMANDS:
            why = Refused(403, "NO_COMMAND" if may_command else "FORBIDDEN", f"command {frame.command}")
            await refused(
                call.service, call.token, reactor_command, why, places=call.path, environment=call.environment
            )
            return {"id": frame.cid, "error": why.code}
        await run_sync(_audit, call, frame.command)
        await owner.send(op="command", id=frame.cid, cid=frame.cid, command=frame.command, arg=frame.arg)
        return None

    await _relayed(call, socket, one, is_watching=True)


async def _relayed(call: Call, socket: WebSocket, one: _One, *, is_watching: bool) -> None:
    await socket.accept()
    try:
        row = await run_sync(_row, call)
    except PondageError as error:
        await socket.send_text(msgspec.json.encode({"error": problem_of(error)}).decode())
        await socket.close(1008)
        return
    try:
        reader, writer = await connected(row, limit=MOST_BYTES)
    except OSError:
        await socket.close(RESTARTED, "no live host answers for the reactor")
        return
    owner = _Owner(row, reader, writer)
    lease_s = call.ledger.durability.reap_after_s
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_listen, socket, owner, one, group.cancel_scope)
            with suppress(OSError, ValueError, WebSocketDisconnect, RuntimeError):
                if is_watching:
                    await owner.send(op="watch", id="watch")
                group.start_soon(partial(owner.ping, every_s=lease_s / BEATS))
                await owner.relay(socket, lease_s=lease_s)
                await socket.close(RESTARTED, "the live host has gone")
            group.cancel_scope.cancel()
    finally:
        writer.close()


async def _listen(socket: WebSocket, owner: _Owner, one: _One, scope: anyio.CancelScope) -> None:
    with suppress(OSError, WebSocketDisconnect, RuntimeError):
        while (message := await socket.receive())["type"] != "websocket.disconnect":
            try:
                answer = await one(owner, _text(message))
            except (msgspec.MsgspecError, RecursionError) as error:
                answer = {"id": None, "accepted": False, "error": "bad_frame", "message": str(error)}
            if answer is not None:
                await socket.send_text(msgspec.json.encode(answer).decode())
    scope.cancel()


def _text(message: Message) -> str:
    """Answer what a client said; raises `msgspec.DecodeError` for what no frame is."""
    text = message.get("text")
    if text is None:
        raise msgspec.DecodeError("a frame is text, not bytes")
    if has_zero(text.encode()):
        raise msgspec.DecodeError("a text of the frame has a zero character in it")
    return str(text)


def _row(call: Call) -> ReactorRow:
    with call.ledger.reading() as tx:
        return reactor_row(tx, call.environment, call.path["reactor"])


def _audit(call: Call, what: str) -> None:
    row = _row(call)
    with call.ledger.transaction() as tx:
        told(tx, call.context.by, row, what)


SOCKETS = (
    Socket(
        path="/v1/ws/accumulators/{reactor}/{source}",
        level=Level.DEMAND,
        handler=push,
        summary="Push values to an accumulator; each is answered when it is durable.",
    ),
    Socket(
        path=reactor_watch.path,
        level=reactor_watch.level,
        handler=command,
        summary=reactor_watch.summary,
    ),
)
