"""The page behind a proxy: whatever the port and the prefix, every address in it is relative."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.browser.site import Site
from tests.browser.waiting import PATIENCE_MS

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@contextmanager
def proxied(at: Site, prefix: str) -> Iterator[str]:
    """A proxy that serves the site under a prefix, as many companies have it."""
    target = urlsplit(at.address)

    class Passing(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            head = b""
            while b"\r\n\r\n" not in head and (data := self.request.recv(65536)):
                head += data
            own = f"127.0.0.1:{self.server.server_address[1]}"
            head = head.replace(f" {prefix}/".encode(), b" /", 1).replace(own.encode(), target.netloc.encode())
            # One request for each connection: then only its head has to be rewritten.
            head = head.replace(b"Connection: keep-alive", b"Connection: close")
            with socket.create_connection((target.hostname or "", target.port or 0)) as there:
                there.sendall(head)
                threading.Thread(target=_pump, args=(self.request, there), daemon=True).start()
                _pump(there, self.request)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Passing) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}{prefix}/"
        server.shutdown()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def test_it_works_behind_any_prefix_of_a_proxy(browser: Browser, at: Site) -> None:
    with proxied(at, "/tools/pondage") as address:
        window = browser.new_context()
        window.set_default_timeout(PATIENCE_MS)
        tab = window.new_page()
        tab.goto(f"{address}?page=canvas#token={at.token()}")
        tab.wait_for_selector(".react-flow__edge")
        tab.get_by_role("link", name="Overview").click()
        tab.wait_for_selector("text=What is wrong")
        assert urlsplit(tab.url).path == "/tools/pondage/"
        tab.locator(".connection-live").wait_for()
        window.close()
