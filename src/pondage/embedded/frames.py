"""How a process that asks and one that answers talk: a letter, a length, and so many bytes."""

from __future__ import annotations

import struct
from typing import BinaryIO

import msgspec

from pondage.errors import PondageError

TABLES, ROWS, ERROR, END, ASKED = b"T", b"R", b"E", b"D", b"Q"
_HEAD = struct.Struct(">cQ")
LONGEST = 1 << 30


class Begun(msgspec.Struct, frozen=True):
    """That a question is accepted: which tables it reads, and how many values it wants."""

    tables: list[str]
    parameters: int


class Ended(msgspec.Struct, frozen=True):
    """That an answer is whole; `is_cut`: there were more rows than it may have."""

    is_cut: bool


class Said(msgspec.Struct, frozen=True):
    """What went wrong, as the other side raises it."""

    message: str
    code: str
    hint: str | None = None

    @classmethod
    def of(cls, error: PondageError) -> Said:
        """Answer an error as it travels."""
        return cls(error.message, error.code, error.hint)


class Gone(EOFError):
    """The other side has ended."""


def send(stream: BinaryIO, kind: bytes, body: bytes) -> None:
    """Write one frame; raises `OSError` when the other side has gone."""
    stream.write(_HEAD.pack(kind, len(body)))
    stream.write(body)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[bytes, bytes]:
    """Read one frame; raises `Gone`."""
    kind, length = _HEAD.unpack(_exactly(stream, _HEAD.size))
    if length > LONGEST:
        raise Gone("that is no frame of ours")
    return kind, _exactly(stream, length)


def _exactly(stream: BinaryIO, length: int) -> bytes:
    found = bytearray()
    while len(found) < length:
        some = stream.read(length - len(found))
        if not some:
            raise Gone("the other side has ended")
        found += some
    return bytes(found)
