"""Whoever waits for the answer of a question and goes away ends it; what is no question goes on."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pondage.ledger.database.sqlite import SqliteDriver
from pondage.server.call import Service
from pondage.server.serving import ServeOptions, bound, serving
from tests.engine.plain import wait_for
from tests.ledger.harness import World, pond
from tests.server.conftest import token_of


class Server:
    """A real server, asked over sockets that a test may close in the middle."""

    def __init__(self, world: World, port: int) -> None:
        self.world, self.port = world, port
        self.token = token_of(world, "demand")

    def send(self, method: str, path: str, body: object = None) -> socket.socket:
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
        )
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.sendall(head.encode() + content)
        return connection

    def answer(self, method: str, path: str, body: object = None) -> dict[str, object]:
        with self.send(method, path, body) as connection, connection.makefile("rb") as answered:
            decoded: dict[str, object] = msgspec.json.decode(answered.read().partition(b"\r\n\r\n")[2])
            return decoded


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    world = World(lambda clock: SqliteDriver(tmp_path / "ledger.db", clock))
    world.deploy(pond("orders"), project="shop")
    options = ServeOptions(port=0)
    service = Service(ledger=world.ledger, environment="main", warehouse=tmp_path)
    with bound(options) as listening, serving(service, options, listening):
        yield Server(world, listening.getsockname()[1])
    world.ledger.close()


def test_a_closed_connection_ends_the_question_that_it_waited_for(server: Server) -> None:
    asked = server.answer("POST", "/v1/queries", {"sql": "select 1"})
    other = server.answer("POST", "/v1/queries", {"sql": "select 2"})
    server.send("GET", f"/v1/answers/{asked['id']}?wait=30").close()

    def is_ended() -> bool:
        return server.world.rows("SELECT outcome FROM dispatches ORDER BY id")[0]["outcome"] == "cancelled"

    wait_for(server.world, is_ended)
    said = server.answer("GET", f"/v1/answers/{asked['id']}")
    assert said["state"] == "failed"
    assert msgspec.convert(said["error"], dict[str, object])["code"] == "CANCELLED"
    assert server.answer("GET", f"/v1/answers/{other['id']}")["state"] == "no worker", "nobody left that one"


def test_whoever_only_looks_and_comes_back_later_ends_nothing(server: Server) -> None:
    asked = server.answer("POST", "/v1/queries", {"sql": "select 1"})
    for _ in range(3):
        assert server.answer("GET", f"/v1/answers/{asked['id']}?wait=0.3")["state"] == "no worker"


def test_a_compaction_goes_on_when_its_asker_has_gone(server: Server) -> None:
    asked = server.answer("POST", "/v1/queries", {"sql": "select 1"})
    with server.world.ledger.transaction() as tx:
        tx.change("UPDATE dispatches SET kind = 'compact'")
    server.send("GET", f"/v1/answers/{asked['id']}?wait=0.5").close()
    assert server.answer("GET", f"/v1/answers/{asked['id']}?wait=1")["state"] == "no worker"
