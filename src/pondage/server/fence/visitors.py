"""Connections, counted from the moment they are accepted: who may stay, and who goes when there are too many.

Whoever has shown no token is a stranger: he has a few seconds for everything (the handshake of TLS, his headers, to
take the answer), there is a short list of such, and when it is full the oldest of the address with the most of them
goes. So strangers take places only from each other. Between two requests a connection that has shown a token waits: it
has the same few seconds for its next headers, and goes only when there are no strangers left to go.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from typing import Protocol

import msgspec

from pondage.errors import PondageError

Peer = tuple[str, int]
"""Address and port: no two connections that are open have the same."""
LOOPBACK = ("127.0.0.1", "::1")


def party_of(address: str) -> str:
    """Answer who is counted for an address: of IPv6 everybody has 2⁶⁴ of them, so its network counts as one."""
    if ":" not in address or address in LOOPBACK:
        return address
    try:
        return str(ip_network((address.partition("%")[0], 64), strict=False))
    except ValueError:
        return address


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How many may be connected, in all and from one address, how many of them without a token, and for how long."""

    connections: int = 500
    per_address: int = 100
    strangers: int = 64
    stranger_s: float = 20.0
    stuck_s: float = 30.0
    """Whoever takes nothing of what was sent to him for so long has gone, or means us to wait for ever."""


class Line(Protocol):
    """What a connection is written to."""

    def abort(self) -> None:
        """End it at once, whatever it has not sent yet."""

    def get_write_buffer_size(self) -> int:
        """Answer how many bytes wait for the other side."""


class Visitor:
    """One connection."""

    def __init__(self, peer: Peer, since_s: float, send_away: Callable[[], None]) -> None:
        self.peer = peer
        self.address = party_of(peer[0])
        self.since_s = since_s
        self.send_away = send_away
        self.line: Line | None = None
        self.is_stranger = True
        self.is_heard = False
        """Whether a whole request has come, and its answer is under way."""
        self.open = 0
        """Requests and WebSockets with a good token."""
        self._waiting = 0
        self._stuck_s = since_s

    def stuck_s(self, now_s: float) -> float:
        """Answer for how long nothing of what waits to be sent has been taken. Nobody writes to a full line, so that
        what waits there changes only when some of it is taken."""
        size = 0 if self.line is None else self.line.get_write_buffer_size()
        if size == 0 or size != self._waiting:
            self._waiting, self._stuck_s = size, now_s
        return now_s - self._stuck_s


class Visitors:
    """Everybody who is connected. All of it is called by the one loop that serves them."""

    def __init__(self, limits: Limits | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits or Limits()
        self._clock = clock
        self._here: dict[Peer, Visitor] = {}
        self._idle: dict[Peer, Visitor] = {}
        """Those without a request that has shown a token, the longest waiting first."""
        self._from: Counter[str] = Counter()
        self._of_token: Counter[str] = Counter()
        self.sent_away = 0

    @property
    def count(self) -> int:
        """Answer how many are connected."""
        return len(self._here)

    @property
    def strangers(self) -> int:
        """Answer how many of them have shown no token."""
        return sum(each.is_stranger for each in self._idle.values())

    def enter(self, peer: Peer, send_away: Callable[[], None]) -> Visitor | None:
        """Let a connection in, for which another one may have to go; None for one that has to go itself."""
        limits, address = self.limits, party_of(peer[0])
        if self._from[address] >= limits.per_address and address not in LOOPBACK:
            has_room = self._one_goes(address)
        elif self.count >= limits.connections or self.strangers >= limits.strangers:
            has_room = self._one_goes()
        else:
            has_room = True
        if not has_room:
            self.sent_away += 1
            return None
        visitor = Visitor(peer, self._clock(), send_away)
        self._here[peer] = self._idle[peer] = visitor
        self._from[address] += 1
        return visitor

    def leave(self, visitor: Visitor) -> None:
        """Forget a connection that is closed, once."""
        if self._here.get(visitor.peer) is not visitor:
            return
        del self._here[visitor.peer]
        self._idle.pop(visitor.peer, None)
        self._from[visitor.address] -= 1
        if not self._from[visitor.address]:
            del self._from[visitor.address]

    @contextmanager
    def heard(self, peer: Peer | None) -> Iterator[None]:
        """While a whole request is looked at, those go first who have sent half of one."""
        visitor = None if peer is None else self._here.get(peer)
        if visitor is None:
            yield
            return
        visitor.is_heard = True
        try:
            yield
        finally:
            visitor.is_heard = False

    @contextmanager
    def known(self, peer: Peer | None, token: str) -> Iterator[None]:
        """While a request with a good token is answered nobody sends its connection away; raises `PondageError` for a
        token that holds half of all connections already."""
        visitor = None if peer is None else self._here.get(peer)
        if visitor is None:  # it has not come through the door
            yield
            return
        if self._of_token[token] >= max(1, self.limits.connections // 2):
            raise PondageError(
                "this token has half of all connections already", hint="end some of them", code="TOO_MANY_AT_ONCE"
            )
        self._of_token[token] += 1
        visitor.open += 1
        visitor.is_stranger = False
        self._idle.pop(visitor.peer, None)
        try:
            yield
        finally:
            self._of_token[token] -= 1
            if not self._of_token[token]:
                del self._of_token[token]
            visitor.open -= 1
            if not visitor.open and self._here.get(visitor.peer) is visitor:
                visitor.since_s = self._clock()
                self._idle[visitor.peer] = visitor

    def sweep(self) -> None:
        """Send away whoever was idle for too long, and whoever takes nothing."""
        now_s = self._clock()
        late = [each for each in self._idle.values() if now_s - each.since_s >= self.limits.stranger_s]
        stuck = [each for each in self._here.values() if each.stuck_s(now_s) >= self.limits.stuck_s]
        for visitor in (*late, *stuck):
            self._end(visitor)

    def make_room(self) -> None:
        """Send a stranger away, or nobody: the machine has no room for another connection."""
        self._one_goes()

    def _one_goes(self, address: str | None = None) -> bool:
        """Send the oldest away of those that nobody would miss; answer whether there was one."""
        idle = [each for each in self._idle.values() if address is None or each.address == address]
        idle = [each for each in idle if each.is_stranger] or idle
        idle = [each for each in idle if not each.is_heard] or idle
        if not idle:
            return False
        if address is None:
            [(address, _)] = Counter(each.address for each in idle).most_common(1)
        self._end(next(each for each in idle if each.address == address))
        return True

    def _end(self, visitor: Visitor) -> None:
        self.leave(visitor)
        self.sent_away += 1
        visitor.send_away()
