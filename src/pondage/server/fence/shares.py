"""Threads and bodies: what a token may take of them, so that the others find some left."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import anyio
import msgspec
from anyio.to_thread import run_sync

from pondage.errors import PondageError

Answer = TypeVar("Answer")
SMALL = 64 * 1024
"""A body that is not counted: there are at most as many of them as connections."""
LARGE = 2 * 1024 * 1024
MOST = 10_000


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """How many large bodies there may be at once, in all and of one token, and how many bytes of bodies."""

    large: int = 4
    large_of_one: int = 2
    sum_bytes: int = 192 * 1024 * 1024


class Bodies:
    """What is held of bodies, from before the first byte is read until the request is answered."""

    def __init__(self, room: Room | None = None) -> None:
        self.room = room or Room()
        self.held_bytes = 0
        self._large: Counter[str] = Counter()

    @contextmanager
    def held(self, token: str, size: int) -> Iterator[None]:
        """Keep room for a body of at most `size` bytes; raises `PondageError` when there is none."""
        if size <= SMALL:
            yield
            return
        is_large = size > LARGE
        if is_large and self._large[token] >= self.room.large_of_one:
            raise PondageError(
                f"this token sends {self._large[token]} large bodies already",
                hint="send them one after the other",
                code="TOO_MANY_BODIES",
            )
        is_full = is_large and self._large.total() >= self.room.large
        if is_full or self.held_bytes + size > self.room.sum_bytes:
            raise PondageError(
                "there is no room for a body of this size just now", hint="send it again", code="NO_ROOM"
            )
        self.held_bytes += size
        self._large[token] += is_large
        try:
            yield
        finally:
            self.held_bytes -= size
            self._large[token] -= is_large
            if not self._large[token]:
                del self._large[token]


class Threads:
    """Threads for handlers, of several kinds, so that none of them waits for another; a token has a share of each."""

    def __init__(self, *, at_once: int, of_one: int) -> None:
        self._at_once = anyio.CapacityLimiter(at_once)
        self._of_one = of_one
        self._shares: OrderedDict[str, anyio.CapacityLimiter] = OrderedDict()

    async def run(self, token: str, function: Callable[..., Answer], *given: object) -> Answer:
        """Call a function in a thread. Who asks for too much at once waits for himself, and not the others for him."""
        async with self._share(token):
            return await run_sync(function, *given, limiter=self._at_once)

    def _share(self, token: str) -> anyio.CapacityLimiter:
        share = self._shares.get(token) or self._shares.setdefault(token, anyio.CapacityLimiter(self._of_one))
        self._shares.move_to_end(token)
        if len(self._shares) > MOST:
            self._shares.popitem(last=False)
        return share
