"""`WS /v1/ws/logs`: the lines of Ripples as they are written, in new logs too."""

from __future__ import annotations

from contextlib import suppress

import anyio
import msgspec
from anyio.to_thread import run_sync
from starlette.websockets import WebSocket, WebSocketDisconnect

from pondage.errors import PondageError
from pondage.operations.runs import LOOK_EVERY_S, LogReader, LogsRequest, log_lines
from pondage.server.call import Call, Socket
from pondage.server.feed_socket import until_it_goes
from pondage.server.mounts import sent_of
from pondage.server.problems import problem_of

LogsQuery = sent_of(LogsRequest, (), "Query")


async def follow(call: Call, socket: WebSocket) -> None:
    """Send the last lines, then new ones, in lists, until the client goes."""
    await socket.accept()
    async with anyio.create_task_group() as group:
        group.start_soon(until_it_goes, socket, group.cancel_scope)
        with suppress(WebSocketDisconnect, RuntimeError):
            await _send(call, socket)
        group.cancel_scope.cancel()


async def _send(call: Call, socket: WebSocket) -> None:
    reader = LogReader(call.context, LogsRequest(**msgspec.structs.asdict(call.asked(LogsQuery))))
    try:
        while True:
            for batch in await run_sync(reader.batches):
                await socket.send_text(msgspec.json.encode(batch).decode())
            await anyio.sleep(LOOK_EVERY_S)
    except PondageError as error:
        await socket.send_text(msgspec.json.encode({"error": problem_of(error)}).decode())
        await socket.close(1008)


SOCKETS = (
    Socket(path=log_lines.path, level=log_lines.level, handler=follow, query=LogsQuery, summary=log_lines.summary),
)
