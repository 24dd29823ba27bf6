"""The proxy between a test and its server: while the server is down it turns callers away, and later lets them in."""

from __future__ import annotations

import socket
from contextlib import closing

from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.services.proxy import Proxy


def test_a_server_that_was_down_is_reached_again() -> None:
    port = free_port()
    with closing(Proxy(port)) as proxy:
        with socket.create_connection((proxy.host, proxy.port), PATIENCE_S) as caller:
            assert caller.recv(1) == b""
        with (
            socket.create_server(("127.0.0.1", port)) as server,
            socket.create_connection((proxy.host, proxy.port), PATIENCE_S) as caller,
        ):
            caller.sendall(b"?")
            server.settimeout(PATIENCE_S)
            answering, _ = server.accept()
            with answering:
                assert answering.recv(1) == b"?"
