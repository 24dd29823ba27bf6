"""The door: connections are accepted and counted here, before a handshake or a single byte is waited for.

Uvicorn serves them as it does by itself, with its protocols for HTTP and WebSockets. But it has no time limit for
headers or bodies and no number of connections that it refuses before they cost anything, and asyncio hands it a
connection only when the handshake of TLS is over. So accepting is ours, by what asyncio offers everybody, and nothing
else is.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial

import uvicorn

from pondage.server.fence.visitors import Visitor, Visitors

LOG = logging.getLogger("pondage.server")
SWEEP_S = 1.0
REST_S = 0.1
"""How long nobody is accepted after the machine had no room for another connection."""


class Accepted(socket.socket):
    """A connection that says when its descriptor is given back, whoever closes it."""

    def __init__(self, taken: socket.socket) -> None:
        super().__init__(taken.family, taken.type, taken.proto, fileno=taken.detach())
        self.on_close: Callable[[], None] = _nothing

    def close(self) -> None:
        """Close it, and say so."""
        super().close()
        self.on_close()

    def end(self) -> None:
        """Let whoever reads from it find its end, as long as nobody knows its transport: a handshake fails by that."""
        with suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)


def _nothing() -> None:
    pass


class Door:
    """Accepts what comes to a listening socket, as long as there is room."""

    def __init__(
        self,
        listening: socket.socket,
        visitors: Visitors,
        protocol: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext | None,
    ) -> None:
        listening.setblocking(False)
        self._listening = listening
        self._visitors = visitors
        self._protocol = protocol
        self._context = context
        self._doing: tuple[asyncio.Task[None], ...] = ()
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self) -> None:
        """Begin to accept."""
        self._doing = (self._start(self._accept()), self._start(self._sweep()))

    async def close(self) -> None:
        """Accept nobody any more; who is inside stays."""
        for task in self._doing:
            task.cancel()
        await asyncio.gather(*self._doing, return_exceptions=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                taken, peer = await loop.sock_accept(self._listening)
            except OSError as error:
                # No descriptor, no memory, or somebody who has gone already: the next one is accepted all the same.
                LOG.warning("a connection could not be accepted: %s", error.strerror)
                self._visitors.make_room()
                await asyncio.sleep(REST_S)
                continue
            self._let_in(taken, (str(peer[0]), int(peer[1])))
            # What was sent away gives its descriptor back before the next one is taken.
            await asyncio.sleep(0)

    def _let_in(self, taken: socket.socket, peer: tuple[str, int]) -> None:
        accepted = Accepted(taken)
        visitor = self._visitors.enter(peer, accepted.end)
        if visitor is None:
            accepted.close()
            return
        accepted.on_close = partial(self._visitors.leave, visitor)
        self._start(self._serve(accepted, visitor))

    async def _serve(self, accepted: Accepted, visitor: Visitor) -> None:
        with suppress(OSError, ssl.CertificateError):  # a handshake that failed is no news
            visitor.line, _ = await asyncio.get_running_loop().connect_accepted_socket(
                self._protocol,
                accepted,
                ssl=self._context,
                ssl_handshake_timeout=None if self._context is None else self._visitors.limits.stranger_s,
            )
            visitor.send_away = visitor.line.abort

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            self._visitors.sweep()

    def _start(self, doing: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class FencedServer(uvicorn.Server):
    """Uvicorn behind the door."""

    def __init__(self, config: uvicorn.Config, visitors: Visitors) -> None:
        super().__init__(config)
        self._visitors = visitors
        self._doors: list[Door] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open a door for each listening socket; uvicorn itself listens to none."""
        await super().startup(sockets=[])
        for listening in sockets or ():
            door = Door(listening, self._visitors, self._protocol, self.config.ssl)
            door.open()
            self._doors.append(door)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the doors, and let uvicorn say goodbye to those inside."""
        for door in self._doors:
            await door.close()
        await super().shutdown(sockets)

    def _protocol(self) -> asyncio.Protocol:
        """Answer what uvicorn answers for a new connection."""
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made
