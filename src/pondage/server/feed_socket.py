"""`WS /v1/ws/feed`: a snapshot of an environment, then every change, to each client that watches."""

from __future__ import annotations

from contextlib import suppress

import anyio
import msgspec
from anyio.to_thread import run_sync
from starlette.websockets import WebSocket, WebSocketDisconnect

from pondage.operations.operation import Level, Moment
from pondage.server.call import Call, Socket
from pondage.server.hub import Feed, Watcher

WATCHERS = 500
TRY_LATER = 1013


class FeedQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Go on after this place; without it a snapshot comes first, with `graph` what `/v1/graph` answers in it."""

    after: Moment | None = None
    graph: bool = False


async def watch(call: Call, socket: WebSocket) -> None:
    """Send the feed until the client goes or falls behind."""
    feeds = call.service.feeds
    await socket.accept()
    if feeds.count >= WATCHERS:
        await socket.close(TRY_LATER, "too many watch")
        return
    feed = feeds.of(call.ledger, call.environment)
    with feed.watched() as watcher:
        await feed.ready()
        async with anyio.create_task_group() as group:
            group.start_soon(until_it_goes, socket, group.cancel_scope)
            with suppress(WebSocketDisconnect, RuntimeError):
                await _send(call, socket, feed, watcher)
            group.cancel_scope.cancel()


async def _send(call: Call, socket: WebSocket, feed: Feed, watcher: Watcher) -> None:
    seq = -1
    asked = call.asked(FeedQuery)
    for message in await run_sync(lambda: feed.first(asked.after, has_graph=asked.graph)):
        seq = getattr(message, "seq", seq)
        await socket.send_text(msgspec.json.encode(message).decode())
    while (given := await watcher.messages.get()) is not None:
        # What happened before the first message was sent is in it.
        if given[0] >= seq:
            await socket.send_text(given[1].decode())
    await socket.close(TRY_LATER, "too far behind")


async def until_it_goes(socket: WebSocket, scope: anyio.CancelScope) -> None:
    """Read and forget what the client says, until it goes; then end everything in the scope."""
    with suppress(RuntimeError):
        while (await socket.receive())["type"] != "websocket.disconnect":
            pass
    scope.cancel()


SOCKETS = (
    Socket(
        path="/v1/ws/feed",
        level=Level.READ,
        handler=watch,
        query=FeedQuery,
        summary="A snapshot, then every change; `after` goes on where a connection broke.",
    ),
)
