"""Running the server: the first token, the socket, uvicorn, in the foreground or beside something else."""

from __future__ import annotations

import logging
import os
import resource
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue

import msgspec
import uvicorn
from starlette.types import ASGIApp

from pondage.errors import PondageError
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors, api_tokens, history
from pondage.ledger.tables.history import Caller
from pondage.private import make_private
from pondage.project.project import ServerTable
from pondage.server.app import make_app
from pondage.server.call import Service
from pondage.server.fence.door import FencedServer
from pondage.server.fence.visitors import Limits, Visitors
from pondage.server.guard import LOOPBACK
from pondage.tracing import begin

PORT = 8642
TOKEN_FILE = "admin.token"
MESSAGE_BYTES = 1024 * 1024
PING_S = 20.0
"""How often a WebSocket is asked whether anybody is there, and how long it may take to say so."""


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where to listen, under which other names, and with which certificate."""

    host: str = "127.0.0.1"
    port: int = PORT
    hosts: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Answer every name that a request may give: of an address for all interfaces only those that were allowed."""
        own = () if self.host in ("0.0.0.0", "::", "") else (self.host,)
        return (*LOOPBACK, *own, *self.hosts)


def limits_of(settings: ServerTable) -> Limits:
    """Answer how many may be connected: what the project says, and at most half of what this process may open."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    is_endless = descriptors == resource.RLIM_INFINITY
    most = settings.connections if is_endless else min(settings.connections, descriptors // 2)
    return Limits(
        connections=most, per_address=min(settings.connections_per_address, most), strangers=max(1, min(64, most // 4))
    )


def first_token(ledger: Ledger, state: Path, *, environment: str) -> str | None:
    """Make the admin token of a first start and answer it; None when there is one already, in the state directory."""
    place = state / TOKEN_FILE
    make_private(state)
    try:
        # Whoever makes the file makes the token: of two that start at once only one does.
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return None
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            token = _made(ledger, environment)
            file.write(token + "\n")
    except BaseException:
        place.unlink()
        raise
    return token


def _made(ledger: Ledger, environment: str) -> str:
    with ledger.transaction() as tx:
        token, row = api_tokens.create(
            tx, ledger.ids, name="first start", level="admin", environments=(api_tokens.EVERYWHERE,)
        )
        identity = actors.made_environment(tx, environment)
        history.audit(tx, Caller("serve"), environment=identity, verb="token create", target=row.id, detail=row.name)
    return token


def bound(options: ServeOptions) -> socket.socket:
    """Listen, so that a port that is taken is an error before anything else starts; raises `PondageError`."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # Named as TCP: only then does asyncio send small answers at once, and not after an acknowledgement, 40 ms later.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((options.host, options.port))
        opened.listen(1024)
    except OSError as error:
        opened.close()
        raise PondageError(
            f"cannot listen on {options.host}:{options.port}: {error.strerror}",
            hint="choose another port: --port N",
            code="PORT_TAKEN",
        ) from error
    return opened


def url_of(options: ServeOptions, listening: socket.socket, token: str | None) -> str:
    """Answer where to find it. A token is in the fragment, which a browser keeps to itself."""
    scheme = "https" if options.certificate else "http"
    host = f"[{options.host}]" if ":" in options.host else options.host
    fragment = f"#token={token}" if token else ""
    return f"{scheme}://{host}:{listening.getsockname()[1]}/{fragment}"


def server_of(app: ASGIApp, options: ServeOptions, visitors: Visitors) -> FencedServer:
    """Answer the server, which says nothing by itself and takes no client's word for an address.

    What serves is named, so that a package that happens to be there puts nothing else in its place.
    """
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="websockets-sansio",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        ws_max_size=MESSAGE_BYTES,
        ws_ping_interval=PING_S,
        ws_ping_timeout=PING_S,
        timeout_graceful_shutdown=5,
        ssl_certfile=options.certificate,
        ssl_keyfile=None if options.key is None else str(options.key),
        lifespan="off",
    )
    logging.getLogger("uvicorn.error").addFilter(_is_worth_saying)
    return FencedServer(config, visitors)


OF_CLIENTS = (
    "ASGI callable returned without completing handshake",
    "Invalid HTTP request received.",
    "Unsupported upgrade request.",
    "Invalid UTF-8 sequence received from client.",
)
"""What uvicorn says of a WebSocket that we refuse, and of what is no request."""


def _is_worth_saying(record: logging.LogRecord) -> bool:
    """Leave out what uvicorn says of what a client sent: anybody could fill the log with it."""
    return not str(record.msg).startswith(OF_CLIENTS)


def serve(service: Service, options: ServeOptions, listening: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C; raises `PondageError` when the server ends by itself."""
    # Of all that wakes a thread, only this may be touched by a handler that runs while we hold its lock.
    asked: SimpleQueue[int] = SimpleQueue()
    before = {
        each: signal.signal(each, lambda number, _: asked.put(number)) for each in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        with listening, serving(service, options, listening) as thread:
            while not _is_asked(asked):
                if not thread.is_alive():
                    raise PondageError("the server has ended", hint="its last words are above", code="SERVER_ENDED")
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _is_asked(asked: SimpleQueue[int]) -> bool:
    try:
        asked.get(timeout=0.5)
    except Empty:
        return False
    return True


@contextmanager
def serving(service: Service, options: ServeOptions, listening: socket.socket) -> Iterator[threading.Thread]:
    """Serve in a thread while the block runs, and answer the thread."""
    begin("server")
    server = server_of(make_app(service, hosts=options.names), options, service.visitors)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="server", daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        server.should_exit = True
        thread.join(10.0)
