"""The guard: nobody gets to a route without a token, from a page of somebody else, or under a foreign name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio.to_thread import run_sync
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pondage.errors import PondageError
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import api_tokens
from pondage.ledger.tables.api_tokens import TokenRow
from pondage.server.answers import send_problem
from pondage.server.fence.visitors import Visitors, party_of
from pondage.server.limits import Failures, Tickets
from pondage.server.problems import Refused

LOG = logging.getLogger("pondage.server")
Answer = TypeVar("Answer")
LOOKING = 8
"""Threads that look tokens up: whoever has one does not hold up those who show theirs."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")
TOKEN = "pondage.token"
"""Where the guard leaves the token's row in the scope."""
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'; img-src 'self' data:; worker-src 'self' blob:",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """Stands before the whole application, so that a path that does not exist is guarded like one that does."""

    def __init__(
        self,
        app: ASGIApp,
        ledger: Ledger,
        *,
        hosts: Iterable[str],
        open_paths: Iterable[str],
        tickets: Tickets,
        visitors: Visitors,
    ) -> None:
        self._app = app
        self._ledger = ledger
        self._hosts = frozenset(host.lower() for host in hosts)
        self._open = frozenset(open_paths)
        self._tickets = tickets
        self._visitors = visitors
        self._failures = Failures()
        self._looking = anyio.CapacityLimiter(LOOKING)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer why not."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        guarded = _with_headers(send)
        with ExitStack() as stack:
            stack.enter_context(self._visitors.heard(scope.get("client")))
            try:
                _check_framing(scope)
                self._check_names(scope)
                if scope["type"] == "websocket" or scope["path"] not in self._open:
                    token = scope[TOKEN] = await self._bearer(scope)
                    stack.enter_context(self._visitors.known(scope.get("client"), token.id))
            except PondageError as error:
                await send_problem(scope, receive, guarded, error)
                return
            await self._app(scope, receive, guarded)

    def _check_names(self, scope: Scope) -> None:
        """Refuse a Host that is not ours (a page that had its name point here) and an Origin that is not that Host."""
        headers = Headers(scope=scope)
        given = headers.getlist("host")
        host = _host_name(given[0]) if len(given) == 1 else None
        if host is None or host not in self._hosts:
            raise Refused(
                421, "FOREIGN_HOST", "this server does not go by that name", hint="pondage serve --allow-host NAME"
            )
        origins = headers.getlist("origin")
        if origins and (len(origins) > 1 or not _is_same(origins[0], given[0])):
            raise Refused(403, "FOREIGN_ORIGIN", "a page of another origin may not use this server")

    async def _bearer(self, scope: Scope) -> TokenRow:
        headers = Headers(scope=scope)
        is_socket = scope["type"] == "websocket"
        if is_socket and "origin" in headers:
            given = parse_qs(scope["query_string"].decode("latin-1")).get("ticket", [""])
            row = self._tickets.take(given[0]) if len(given) == 1 else None
            if row is not None:
                return await self._still_valid(row)
            self._failures.failed(_address(scope))
            raise Refused(401, "NO_TICKET", "a browser's WebSocket needs a ticket", hint="POST /v1/tickets")
        scheme, _, token = headers.get("authorization", "").partition(" ")
        token = token.strip()
        address = _address(scope)
        if self._failures.is_limited(address, token):
            raise Refused(
                429, "TOO_MANY_FAILURES", "too many wrong tokens came from this address", hint="wait a minute"
            )
        if scheme.lower() != "bearer" or not token or len(token) > 200:
            self._failures.failed(address)
            raise Refused(
                401,
                "NO_TOKEN",
                "a token is needed",
                hint="Authorization: Bearer TOKEN; pondage token create --level read",
            )
        found = await self._in_thread(lambda: self._look_up(token))
        if found is None:
            self._failures.failed(address)
            LOG.warning("a wrong token came from %r", address)
            raise Refused(
                401, "BAD_TOKEN", "the token is unknown, revoked or expired", hint="pondage token create --level read"
            )
        self._failures.succeeded(token)
        return found

    async def _in_thread(self, look: Callable[[], Answer]) -> Answer:
        return await run_sync(look, limiter=self._looking)

    def _look_up(self, token: str) -> TokenRow | None:
        with self._ledger.reading() as tx:
            return api_tokens.bearer(tx, token)

    async def _still_valid(self, row: TokenRow) -> TokenRow:
        """Answer the token behind a ticket, unless it was revoked after the ticket was issued."""

        def look() -> bool:
            with self._ledger.reading() as tx:
                return api_tokens.is_valid(tx, row.id)

        if not await self._in_thread(look):
            raise Refused(
                401, "BAD_TOKEN", "the token is unknown, revoked or expired", hint="pondage token create --level read"
            )
        return row


def _check_framing(scope: Scope) -> None:
    """Refuse a request with two lengths: a proxy that believes the other one sees another request behind it."""
    headers = Headers(scope=scope)
    if "content-length" in headers and "transfer-encoding" in headers:
        raise Refused(
            400, "TWO_LENGTHS", "a request has a Content-Length or a Transfer-Encoding, not both", is_last=True
        )


def _host_name(given: str) -> str | None:
    """Answer the name in a Host header without its port; None when it is no plain name."""
    if any(character in given for character in "/@?#\\ ,"):
        return None
    try:
        split = urlsplit(f"//{given}")
        _ = split.port
    except ValueError:
        return None
    return split.hostname.lower() if split.hostname else None


def _is_same(origin: str, host: str) -> bool:
    """Answer whether an Origin is the very host and port that were asked; compared whole, never by its end."""
    scheme, separator, rest = origin.partition("://")
    return bool(separator) and scheme in ("http", "https") and rest.lower() == host.lower()


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return party_of(str(client[0])) if client else "unknown"


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            # Only the files of the page say themselves how long they may be kept.
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return sending
