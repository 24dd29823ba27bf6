"""`WS /v1/ws/logs`: the lines of Ripples as they are written, in new logs too."""

from __future__ import annotations

from contextlib import suppress

import anyio
import msgspec
from anyio.to_thread import run_sync
from starlette.websockets import WebSocket, WebSocketDisconnect

from pondage.errors import PondageError
from pondage.server.feed import until_it_goes
from pondage.server.levels import Level
from pondage.server.problems import problem_of
from pondage.server.reading import LogsQuery
from pondage.server.table import Call, Socket
from pondage.views.runs.logs import LogLine, locate, read_lines

LOOK_EVERY_S = 0.5
MOST_LINES = 1_000


class Follower:
    """Remembers how far each log was read, so that no line is lost or sent twice."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._query = call.asked(LogsQuery)
        self._offsets: dict[str, int] = {}

    def look(self) -> list[LogLine]:
        """Answer what was written since the last look."""
        with self._call.ledger.reading() as tx:
            view = locate(tx, self._call.environment, self._query.subject, ripple=self._query.ripple)
        found: list[LogLine] = []
        for file in view.files:
            lines, self._offsets[file.path] = read_lines(
                self._call.service.warehouse, file, offset=self._offsets.get(file.path, 0)
            )
            found += lines
        return found


async def follow(call: Call, socket: WebSocket) -> None:
    """Send the last lines, then new ones, in lists, until the client goes."""
    await socket.accept()
    async with anyio.create_task_group() as group:
        group.start_soon(until_it_goes, socket, group.cancel_scope)
        with suppress(WebSocketDisconnect, RuntimeError):
            await _send(call, socket)
        group.cancel_scope.cancel()


async def _send(call: Call, socket: WebSocket) -> None:
    follower = Follower(call)
    first = call.asked(LogsQuery).lines
    try:
        lines = await run_sync(follower.look)
        lines = lines[-first:] if first else []
        while True:
            for start in range(0, len(lines), MOST_LINES):
                await socket.send_text(msgspec.json.encode({"lines": lines[start : start + MOST_LINES]}).decode())
            await anyio.sleep(LOOK_EVERY_S)
            lines = await run_sync(follower.look)
    except PondageError as error:
        await socket.send_text(msgspec.json.encode({"error": problem_of(error)}).decode())
        await socket.close(1008)


SOCKETS = (
    Socket(
        path="/v1/ws/logs",
        level=Level.READ,
        handler=follow,
        query=LogsQuery,
        summary="The lines of a Pond's or a Run's Ripples as they are written.",
    ),
)
