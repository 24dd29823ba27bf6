"""What the guard remembers: failures for each address, tokens that were good, and tickets that can be used once."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from pondage.ledger.tables.api_tokens import TokenRow, digest

FAILURES = 20
WITHIN_S = 60.0
TICKET_S = 30.0
MOST = 10_000


class Failures:
    """Counts failures of an address. Whoever fails too often is not looked up any more, unless the token was good."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()
        self._good: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def is_limited(self, address: str, token: str) -> bool:
        """Answer whether this attempt is one too many. A token that was good before may always be looked up again."""
        with self._lock:
            if digest(token) in self._good:
                return False
            times = self._failed.get(address)
            while times and times[0] < self._clock() - WITHIN_S:
                times.popleft()
            return times is not None and len(times) >= FAILURES

    def failed(self, address: str) -> None:
        """Count a failure."""
        with self._lock:
            self._failed.setdefault(address, deque(maxlen=FAILURES)).append(self._clock())
            self._failed.move_to_end(address)
            if len(self._failed) > MOST:
                self._failed.popitem(last=False)

    def succeeded(self, token: str) -> None:
        """Remember that a token was good: its bearer does not suffer from others behind the same address."""
        with self._lock:
            self._good[digest(token)] = None
            if len(self._good) > MOST:
                self._good.popitem(last=False)


class Tickets:
    """Tickets for WebSockets of a browser, which cannot send a header: random, for one use within half a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open: OrderedDict[str, tuple[float, TokenRow]] = OrderedDict()
        self._lock = threading.Lock()

    def issue(self, token: TokenRow) -> str:
        """Answer a new ticket that stands for this token."""
        ticket = secrets.token_urlsafe(32)
        with self._lock:
            self._open[digest(ticket)] = (self._clock() + TICKET_S, token)
            if len(self._open) > MOST:
                self._open.popitem(last=False)
        return ticket

    def take(self, ticket: str) -> TokenRow | None:
        """Use a ticket up and answer the token behind it; None when it is unknown, used or too old."""
        with self._lock:
            until, token = self._open.pop(digest(ticket), (0.0, None))
        return token if self._clock() <= until else None
