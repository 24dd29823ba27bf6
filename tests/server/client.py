"""A small client of an ASGI application: a request in, an answer out; and a WebSocket."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

import msgspec
from starlette.types import ASGIApp, Message

from tests.patience import PATIENCE_S


class Answer(msgspec.Struct, frozen=True):
    """What the application answered."""

    status: int
    headers: dict[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.data)


class Client:
    """Calls an application in this process."""

    def __init__(self, app: ASGIApp, token: str | None = None) -> None:
        self.app = app
        self.token = token

    def ask(
        self, method: str, path: str, body: object = None, *, headers: dict[str, str] | None = None, raw: bytes = b""
    ) -> Answer:
        """Send a request, with the client's token and a JSON body unless told otherwise."""
        given = {"host": "127.0.0.1:8642"}
        if self.token is not None:
            given["authorization"] = f"Bearer {self.token}"
        if method == "POST":
            given["content-type"] = "application/json"
        data = msgspec.json.encode(body) if body is not None else raw
        return asyncio.run(self._ask(method, path, {**given, **(headers or {})}, data))

    def get(self, path: str, **more: Any) -> Answer:
        return self.ask("GET", path, **more)

    def post(self, path: str, body: object = None, **more: Any) -> Answer:
        return self.ask("POST", path, body, **more)

    async def _ask(self, method: str, path: str, headers: dict[str, str], data: bytes) -> Answer:
        split = urlsplit(path)
        said: list[Message] = []
        left = [{"type": "http.request", "body": data, "more_body": False}]

        async def receive() -> Message:
            if left:
                return left.pop()
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Message) -> None:
            said.append(message)

        await self.app(scope_of("http", split.path, split.query, headers, method=method), receive, send)
        start = said[0]
        return Answer(
            start["status"],
            {name.decode(): value.decode() for name, value in start["headers"]},
            b"".join(each.get("body", b"") for each in said[1:]),
        )


def scope_of(kind: str, path: str, query: str, headers: dict[str, str], **more: Any) -> dict[str, Any]:
    """A request as a server hands it to the application."""
    from urllib.parse import unquote

    return {
        "type": kind,
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http" if kind == "http" else "ws",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items() if value],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8642),
        "extensions": {"websocket.http.response": {}},
        "subprotocols": [],
        **more,
    }


class Socket:
    """A WebSocket inside a running loop: `async with Socket(app, path, headers)`, then `receive()`.

    With `room` the connection takes so many messages that nobody receives, and then the application's `send` waits.
    """

    def __init__(self, app: ASGIApp, path: str, headers: dict[str, str] | None = None, *, room: int = 0) -> None:
        split = urlsplit(path)
        given = {"host": "127.0.0.1:8642", **(headers or {})}
        self._app = app
        self._scope = scope_of("websocket", split.path, split.query, given)
        self._in: asyncio.Queue[Message] = asyncio.Queue()
        self._out: asyncio.Queue[Message] = asyncio.Queue(room)
        self.status = 0

    async def __aenter__(self) -> Socket:
        self._in.put_nowait({"type": "websocket.connect"})
        self._task = asyncio.create_task(self._app(self._scope, self._in.get, self._out.put))  # type: ignore[arg-type]
        first = await self._next()
        self.status = {"websocket.accept": 101}.get(first["type"], first.get("status", 403))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._in.put_nowait({"type": "websocket.disconnect", "code": 1000})
        await asyncio.wait_for(self._task, PATIENCE_S)

    async def receive(self) -> Any:
        """Wait for the next message, which is JSON."""
        message = await self._next()
        assert message["type"] == "websocket.send", message
        return msgspec.json.decode(message.get("text") or message["bytes"])

    async def send(self, value: object) -> None:
        await self.send_text(msgspec.json.encode(value).decode())

    async def send_text(self, text: str) -> None:
        self._in.put_nowait({"type": "websocket.receive", "text": text})

    async def send_bytes(self, data: bytes) -> None:
        self._in.put_nowait({"type": "websocket.receive", "bytes": data})

    async def closed(self) -> int:
        """Wait until the server ends it and answer the code; what it says before is passed over."""
        while (message := await self._next())["type"] != "websocket.close":
            pass
        return int(message["code"])

    async def _next(self) -> Message:
        return await asyncio.wait_for(self._out.get(), PATIENCE_S)
