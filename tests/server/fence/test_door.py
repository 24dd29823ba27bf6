"""The door on a real port: half-sent requests, handshakes that never end, two lengths, descriptors that come back."""

from __future__ import annotations

import asyncio
import errno
import http.client
import os
import re
import resource
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from starlette.websockets import WebSocket
from websockets.sync.client import connect

import pondage
from pondage.operations.operation import Level
from pondage.project.project import ServerTable
from pondage.server import app as application
from pondage.server import serving as server
from pondage.server.call import Call, Service, Socket
from pondage.server.fence import door
from pondage.server.fence.door import Door
from pondage.server.fence.visitors import Limits, Visitor, Visitors
from pondage.server.serving import ServeOptions, bound, limits_of, serving
from tests.ledger.harness import World
from tests.patience import PATIENCE_S
from tests.server.conftest import token_of
from tests.server.test_serving import ask, certificate

HALF = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
DESCRIPTORS = 1024
HALVES = 1_100


class Book(Visitors):
    """Visitors with a clock that stands still, and a word when somebody has left."""

    def __init__(self, **limits: int | float) -> None:
        self.now = 0.0
        self.left = threading.Semaphore(0)
        super().__init__(Limits(**limits), clock=lambda: self.now)

    def leave(self, visitor: Visitor) -> None:
        was = self.count
        super().leave(visitor)
        if self.count < was:
            self.left.release()


@contextmanager
def guarded(service: Service, book: Book, options: ServeOptions | None = None) -> Iterator[int]:
    options = options or ServeOptions(port=0)
    with bound(options) as listening, serving(replace(service, visitors=book), options, listening):
        yield listening.getsockname()[1]


def half(port: int, sent: bytes = HALF) -> socket.socket:
    opened = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
    opened.sendall(sent)
    return opened


def is_ended(opened: socket.socket) -> bool:
    """Wait until the server ends a connection."""
    try:
        while opened.recv(4096):
            pass
    except ConnectionError:
        pass
    return True


@contextmanager
def more_descriptors() -> Iterator[None]:
    """Let this process hold the other ends."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4 * DESCRIPTORS), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_eleven_hundred_half_sent_requests_leave_a_server_with_1024_descriptors_answering(tmp_path: Path) -> None:
    (tmp_path / "pondage.toml").write_text('[project]\nname = "shop"\n')
    command = [sys.executable, "-m", "pondage.cli.main", "serve", "--port", "0"]
    limited = ["sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh", *command]
    here = {**os.environ, "PYTHONPATH": str(Path(pondage.__file__).parents[1])}
    with subprocess.Popen(limited, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=here) as server:
        try:
            assert server.stdout is not None
            said = re.search(r"http://127\.0\.0\.1:(\d+)/#", server.stdout.readline() + server.stdout.readline())
            assert said is not None
            port = int(said[1])
            with more_descriptors(), ExitStack() as held:
                for _ in range(HALVES):
                    held.enter_context(half(port))
                assert ask(port, "/healthz")[0] == 200
        finally:
            server.terminate()


def test_there_are_never_more_connections_than_half_of_what_the_process_may_open() -> None:
    descriptors, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, hard))
    try:
        limits = limits_of(ServerTable(connections=100_000, connections_per_address=90_000))
        assert (limits.connections, limits.per_address, limits.strangers) == (512, 512, 64)
        assert limits_of(ServerTable(connections=8)).strangers == 2
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, hard))


def test_half_a_request_is_ended_when_its_time_is_over(service: Service) -> None:
    book = Book(stranger_s=20)
    with guarded(service, book) as port, half(port) as opened:
        assert ask(port, "/healthz")[0] == 200, "so the one before is inside"
        book.now = 20.0
        assert is_ended(opened)


def test_a_body_without_a_token_that_comes_byte_by_byte_is_ended_too(service: Service) -> None:
    """The answer is 401 at once, and what is still sent is read and forgotten: not for ever."""
    book = Book(stranger_s=20)
    slow = b"POST /v1/queries HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{"
    with guarded(service, book) as port, half(port, slow) as opened:
        assert opened.recv(12) == b"HTTP/1.1 401"
        opened.sendall(b" ")
        book.now = 20.0
        assert is_ended(opened)


def test_a_handshake_that_never_ends_takes_a_place_of_strangers_and_no_other(service: Service, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    book = Book(strangers=3)
    with guarded(service, book, ServeOptions(port=0, certificate=cert, key=key)) as port, ExitStack() as held:
        opened = [held.enter_context(half(port, b"\x16\x03\x01")) for _ in range(6)]
        context = ssl.create_default_context(cafile=str(cert))
        asking = http.client.HTTPSConnection("localhost", port, timeout=PATIENCE_S, context=context)
        asking.request("GET", "/healthz")
        assert asking.getresponse().status == 200
        asking.close()
        assert all(is_ended(each) for each in opened[:4])
        assert book.count <= 3


def test_a_request_with_two_lengths_is_refused_and_nothing_behind_it_is_read(service: Service, world: World) -> None:
    token = token_of(world, "admin")
    lengths = ("Content-Length: 4", "Transfer-Encoding: chunked")
    for first, second in (lengths, lengths[::-1]):
        smuggled = (
            f"POST /v1/ponds/sales/pulse HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\n{first}\r\n{second}\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"
            "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        )
        with guarded(service, Book()) as port, half(port, smuggled.encode()) as opened:
            said = b""
            while part := opened.recv(4096):
                said += part
        assert said.startswith(b"HTTP/1.1 400 ")
        assert said.count(b"HTTP/1.1") == 1
        assert b"TWO_LENGTHS" in said


def test_a_descriptor_comes_back_from_requests_and_websockets_alike(service: Service, world: World) -> None:
    book = Book()
    bearer = {"authorization": f"Bearer {token_of(world, 'read')}"}
    with guarded(service, book) as port:
        with connect(f"ws://127.0.0.1:{port}/v1/ws/feed", additional_headers=bearer) as watching:
            assert msgspec.json.decode(watching.recv(PATIENCE_S))["type"] == "snapshot"
            assert (book.count, book.strangers) == (1, 0)
            status, said = ask(port, "/metrics", bearer)
            assert status == 200
            assert b'pondage_connections{kind="known"} 2' in said
            assert book.left.acquire(timeout=PATIENCE_S)
        assert book.left.acquire(timeout=PATIENCE_S)
        assert book.count == 0


def test_a_body_that_comes_too_slowly_is_refused_although_its_token_is_good(
    service: Service, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "BODY_S", 0.0)
    slow = (
        f"POST /v1/queries HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token_of(world, 'demand')}\r\n"
        "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    )
    with guarded(service, Book()) as port, half(port, slow.encode()) as opened:
        said = b""
        while part := opened.recv(4096):
            said += part
    assert said.startswith(b"HTTP/1.1 408 ")
    assert b"TOO_SLOW" in said


def test_a_third_large_body_of_one_token_is_refused_before_it_is_read(service: Service, world: World) -> None:
    token, other = token_of(world, "operate"), token_of(world, "operate")
    sent = (
        "POST /v1/plan HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nExpect: 100-continue\r\n"
        "Content-Type: application/json\r\nContent-Length: 30000000\r\n\r\n"
    )
    with guarded(service, Book()) as port, ExitStack() as held:
        for bearer, status in ((token, b"100"), (token, b"100"), (token, b"429"), (other, b"100")):
            opened = held.enter_context(half(port, sent.format(bearer).encode()))
            assert opened.recv(12) == b"HTTP/1.1 " + status


UPGRADE = (
    "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: Upgrade\r\n"
    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def test_a_websocket_whose_other_end_says_nothing_any_more_is_closed(
    service: Service, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads, so that nothing is stuck; but it answers no ping, as a machine that was cut off does."""
    monkeypatch.setattr(server, "PING_S", 0.05)
    book = Book()
    upgrade = UPGRADE.format(path="/v1/ws/feed", token=token_of(world, "read"))
    with guarded(service, book) as port, half(port, upgrade.encode()) as opened:
        assert opened.recv(12) == b"HTTP/1.1 101"
        assert is_ended(opened)
        assert book.left.acquire(timeout=PATIENCE_S)


def test_a_websocket_that_takes_nothing_is_ended_and_whoever_writes_to_it_goes_on(
    service: Service, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "SWEEP_S", 0.02)
    has_ended = threading.Event()

    async def flood(_: Call, socket: WebSocket) -> None:
        await socket.accept()
        try:
            while True:
                await socket.send_text("x" * 100_000)
        finally:
            has_ended.set()

    class Hasty(Book):
        """Ten seconds pass between two sweeps."""

        def sweep(self) -> None:
            self.now += 10.0
            super().sweep()

    book = Hasty(stuck_s=30)
    route = Socket(path="/v1/ws/flood", level=Level.READ, handler=flood, summary="")
    app = application.make_app(replace(service, visitors=book), sockets=(route,))
    options = ServeOptions(port=0)
    with bound(options) as listening:
        made = server.server_of(app, options, book)
        thread = threading.Thread(target=made.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            upgrade = UPGRADE.format(path="/v1/ws/flood", token=token_of(world, "read"))
            with half(listening.getsockname()[1], upgrade.encode()):
                assert has_ended.wait(PATIENCE_S), "nobody reads a byte of it"
                assert book.left.acquire(timeout=PATIENCE_S)
        finally:
            made.should_exit = True
            thread.join(PATIENCE_S)


class Poor(socket.socket):
    """A listening socket of a process that has no descriptor left, three times."""

    left = 3

    def accept(self) -> tuple[socket.socket, object]:
        if self.left:
            self.left -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


def test_a_process_without_descriptors_goes_on_to_accept_when_it_has_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pondage.server.fence.door.REST_S", 0.0)
    with Poor(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()

        async def scene() -> bytes:
            class Greeting(asyncio.Protocol):
                def connection_made(self, transport: asyncio.BaseTransport) -> None:
                    assert isinstance(transport, asyncio.Transport)
                    transport.write(b"hello")
                    transport.close()

            door = Door(listening, Visitors(), Greeting, None)
            door.open()
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            said = await reader.read()
            writer.close()
            await door.close()
            return said

        assert asyncio.run(asyncio.wait_for(scene(), PATIENCE_S)) == b"hello"
        assert listening.left == 0
