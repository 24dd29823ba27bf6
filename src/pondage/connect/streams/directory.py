"""A directory as a stream: each file that is moved into it is an event, in the order in which they came."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncIterator
from fnmatch import fnmatch
from pathlib import Path

import msgspec

from pondage.define.values.duration import parsed_duration
from pondage.define.values.place import place_of_caller

NAME_BITS = 22
"""An offset is the millisecond in which a file came, and these bits of its name: files that come together differ."""
ANSWER_S = 30.0
"""A directory that cannot be listed for so long is lost."""
LEAST_SETTLE_US = 20_000
"""Nobody can come any more with a time that so long ago was now, whatever steps the file system's clock makes."""
HIDDEN = (".", "_")


class ArrivedFile(msgspec.Struct, frozen=True):
    """A file that has come; `path` is where it is."""

    name: str
    path: str
    bytes: int


class Directory:
    """Watches a directory. Move finished files into it: one that is still written must have settled for `settle`.

    Names that begin with `.` or `_` are not looked at. A file that is changed or replaced is a new event. What was
    taken in may be deleted or moved away. The offset is the time of the file system: when that clock is set back, files
    that come then are older than the offset and are not seen. For as long the source is lost, so that somebody knows.
    """

    says_connected = True

    def __init__(self, path: str | Path, *, pattern: str = "*", every: str = "1s", settle: str = "1s") -> None:
        place = place_of_caller()
        self.path = str(path)
        self.pattern = pattern
        self.every_us = parsed_duration(every, what="every", place=place)
        self.settle_us = max(parsed_duration(settle, what="settle", place=place), LEAST_SETTLE_US)

    async def read(self, after: int | None) -> AsyncIterator[tuple[int, object] | None]:
        """Answer files behind an offset for ever; raises OSError when the directory cannot be listed."""
        last = -1 if after is None else after
        while True:
            async with asyncio.timeout(ANSWER_S):
                found = await asyncio.to_thread(self._look, last)
            yield None
            for offset, file in found:
                yield offset, file
                last = offset
            await asyncio.sleep(self.every_us / 1e6)

    def _look(self, last: int) -> list[tuple[int, ArrivedFile]]:
        now_ns, last_ms = time.time_ns(), last >> NAME_BITS
        if now_ns // 1_000_000 < last_ms:
            raise OSError(f"the clock was set back: files that come to {self.path} now are older than the last one")
        # Whole milliseconds: of those that came in one, some would else be looked at before others with lesser bits.
        settled_ms = (now_ns - self.settle_us * 1000) // 1_000_000
        found = []
        with os.scandir(self.path) as entries:
            for entry in entries:
                if entry.name.startswith(HIDDEN) or not fnmatch(entry.name, self.pattern):
                    continue
                try:
                    seen = entry.stat()
                except FileNotFoundError:
                    continue
                if entry.is_file() and last_ms <= seen.st_ctime_ns // 1_000_000 < settled_ms:
                    file = ArrivedFile(entry.name, entry.path, seen.st_size)
                    found.append((_offset(seen.st_ctime_ns, entry.name), file))
        return [each for each in _placed(found) if each[0] > last]


def _placed(found: list[tuple[int, ArrivedFile]]) -> list[tuple[int, ArrivedFile]]:
    """Answer the files in order, each with an offset of its own.

    Where an offset is taken the file gets the next lower one: so it depends on files that come behind it alone, and
    stays what it was when those before it are taken in and deleted.
    """
    placed: list[tuple[int, ArrivedFile]] = []
    for offset, file in sorted(found, key=lambda each: (each[0], each[1].name), reverse=True):
        placed.append((min(offset, placed[-1][0] - 1) if placed else offset, file))
    return placed[::-1]


def _offset(changed_ns: int, name: str) -> int:
    bits = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") >> (32 - NAME_BITS)
    return (changed_ns // 1_000_000) << NAME_BITS | bits
