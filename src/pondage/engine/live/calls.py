"""Whose code a live host calls at this moment, kept where its supervisor reads it when the host has died.

A process that is killed by an author's code tells nobody. So each call is counted in a mapped file, which the system
keeps: whoever is counted there when the process ends was being called.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from types import TracebackType

from pondage.private import make_private

MOST = 1024
"""So many reactors of one host are noted; those beyond are only not blamed."""
_NUMBER = struct.Struct("q")
_BYTES = MOST * 2 * _NUMBER.size


class Call:
    """The calls of one reactor's code, counted on the loop's thread. A block is one call; they may be nested."""

    __slots__ = ("_at", "_numbers")

    def __init__(self, numbers: memoryview[int], at: int) -> None:
        self._numbers = numbers
        self._at = at

    def begin(self) -> None:
        """Count a call that begins."""
        self._numbers[self._at] += 1

    def end(self) -> None:
        """Count it as over."""
        self._numbers[self._at] -= 1

    __enter__ = begin

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


def unheard() -> Call:
    """Answer a count that nobody reads: of a reactor without a supervisor."""
    return Call(memoryview(bytearray(_NUMBER.size)).cast("q"), 0)


class Calls:
    """The calls of all reactors of one process, as pairs of an actor and a number in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        make_private(path.parent)
        path.touch(mode=0o600)
        with path.open("r+b") as file:
            file.truncate(_BYTES)
            self._numbers = memoryview(mmap.mmap(file.fileno(), _BYTES)).cast("q")
        self._places: dict[int, int] = {}

    def of(self, actor: int) -> Call:
        """Answer the calls of a reactor."""
        if actor not in self._places:
            free = next((at for at in range(MOST) if not self._numbers[2 * at]), None)
            if free is None:
                return unheard()
            self._places[actor] = free
            self._numbers[2 * free] = actor
        return Call(self._numbers, 2 * self._places[actor] + 1)

    def close(self) -> None:
        """Leave nothing behind: this process ends as it was told to."""
        self._path.unlink(missing_ok=True)


def calls_path(state: Path, public_id: str) -> Path:
    """Answer the file of a live host, by the directory of its machine and its name in the ledger."""
    return state / "live" / f"{public_id}.calls"


def under_way(path: Path) -> list[int]:
    """Answer the actors whose code was being called when the process of this file ended."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    pairs = struct.iter_unpack("qq", data[: len(data) // 16 * 16])
    return [actor for actor, number in pairs if actor and number > 0]
