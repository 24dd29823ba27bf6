"""How the page gets there: little, from nobody else, behind any prefix; and one render for each message of the feed."""

from __future__ import annotations

import gzip
import re
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from pondage.kernel.demand.events import Clear, Kill
from pondage.ledger.verbs import send
from pondage.views.why import why
from tests.browser.conftest import Open
from tests.browser.site import Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

MOST_BYTES = 250_000
MOST_REQUESTS = 3
LEAST_PONDS = 200


@pytest.fixture
def watched(browser: Browser) -> Iterator[tuple[Page, list[Request]]]:
    window = browser.new_context(viewport={"width": 1440, "height": 900})
    tab = window.new_page()
    seen: list[Request] = []
    tab.on("request", lambda request: seen.append(request))
    yield tab, seen
    window.close()


def test_two_hundred_ponds_are_drawn_with_three_requests_and_a_quarter_of_a_megabyte(
    watched: tuple[Page, list[Request]], at: Site
) -> None:
    tab, seen = watched
    tab.goto(at.url("canvas", token=at.token(), env="many"))
    tab.wait_for_selector(".react-flow__edge")
    ponds = tab.locator(".react-flow__minimap-node").count()
    assert ponds >= LEAST_PONDS
    asked = [each for each in seen if not each.url.startswith("blob:")]
    assert len(asked) <= MOST_REQUESTS, [each.url for each in asked]
    packed = sum(len(gzip.compress(answer.body(), 9)) for each in asked if (answer := each.response()) is not None)
    assert packed <= MOST_BYTES


def test_nobody_else_is_asked_for_anything(watched: tuple[Page, list[Request]], at: Site) -> None:
    tab, seen = watched
    for page in ("", "canvas", "node", "runs", "timeline", "processes"):
        tab.goto(at.url(page, token=at.token()))
        tab.wait_for_selector("h1, .react-flow__edge")
    hosts = {urlsplit(each.url).netloc for each in seen if not each.url.startswith(("blob:", "data:"))}
    assert hosts == {urlsplit(at.address).netloc}


def test_the_token_is_taken_out_of_the_address(open_page: Open) -> None:
    tab = open_page("canvas", find="sales")
    tab.wait_for_selector(".react-flow__edge")
    assert "token" not in tab.url
    assert "find=sales" in tab.url


COUNTING = """() => {
  window.batches = [];
  new MutationObserver((changes) => {
    const nodes = changes.filter((each) => each.target.classList?.contains("node"));
    if (nodes.length > 0) window.batches.push(nodes.length);
  }).observe(document.querySelector(".react-flow"), { subtree: true, attributes: true, attributeFilter: ["class"] });
}"""


def test_a_message_of_the_feed_is_one_render(open_page: Open, at: Site) -> None:
    tab = open_page("canvas", env="many", pond="p150", only="1")
    tab.wait_for_selector(".react-flow__edge")
    tab.evaluate(COUNTING)
    send(at.ledger, "many", Kill(pond="p150@1"))
    try:
        tab.wait_for_selector(".node.is-killed")
        tab.wait_for_function("() => document.querySelectorAll('.node.is-blocked').length === 9")
        # A kill and everything that it blocks are one step of the machine, one message, and one batch of changes.
        assert tab.evaluate("() => window.batches") == [10]
    finally:
        send(at.ledger, "many", Clear(pond="p150@1"))


def test_why_on_the_page_is_what_the_command_line_says_in_every_state(open_page: Open, at: Site) -> None:
    """Thirty-odd Ponds in every state there is: each gate, its sentence and what to type, in the same order."""
    tab = open_page("node")
    tab.wait_for_selector(".pond-table")
    names = tab.locator(".pond-table tbody tr td:first-child a").all_inner_texts()
    compared: set[str] = set()
    for name in names:
        tab.get_by_role("link", name="Ponds", exact=True).click()
        tab.locator(".pond-table").get_by_role("link", name=name, exact=True).click()
        tab.wait_for_selector(".why .gate")
        with at.ledger.reading() as tx:
            said = why(tx, at.ledger, "main", name.partition("@")[0])
        expected = [(gate.gate, timeless(gate.text), timeless(gate.hint or "")) for gate in said.gates]
        shown = [
            (
                gate.locator(".gate-name").inner_text(),
                timeless(gate.locator("p").inner_text()),
                timeless(gate.locator(".command code").inner_text() if gate.locator(".command").count() else ""),
            )
            for gate in tab.locator(".why .gate").all()
        ]
        assert shown == expected, name
        compared.add(f"{said.state}: {', '.join(gate.gate for gate in said.gates)}")
    assert len(names) >= 30
    assert len(compared) >= 12, sorted(compared)


def timeless(text: str) -> str:
    """A sentence without how long ago things were: that passes between two looks."""
    return re.sub(r"\b(now|in )?\d+ (ms|s|min|h|d)\b( ago)?", "T", text)


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
        tab = window.new_page()
        tab.goto(f"{address}?page=canvas#token={at.token()}")
        tab.wait_for_selector(".react-flow__edge")
        tab.get_by_role("link", name="Overview").click()
        tab.wait_for_selector("text=What is wrong")
        assert urlsplit(tab.url).path == "/tools/pondage/"
        assert tab.locator(".connection-live").count() == 1
        window.close()
