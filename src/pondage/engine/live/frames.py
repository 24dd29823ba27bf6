"""Frames between a live host and whoever is on its machine: one JSON object in a line, each way."""

from __future__ import annotations

from typing import Literal

import msgspec

MOST_BYTES = 16 << 20
"""How long a line may be."""
RETRY_AFTER_US = 1_000_000
"""When to ask again where the owner is."""


class Frame(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request. A push names a source; a command may carry a `cid` of its own, under which it is done once."""

    op: Literal["push", "command", "state", "dead", "watch"]
    reactor: str
    environment: str = "main"
    id: str | int | None = None
    source: str | None = None
    value: msgspec.Raw = msgspec.Raw(b"null")
    f: int | None = None
    cid: str | None = None
    command: str | None = None
    arg: msgspec.Raw = msgspec.Raw(b"null")


_frames = msgspec.json.Decoder(Frame)


def read_frame(line: bytes) -> Frame:
    """Give the frame of a line; raises msgspec.DecodeError."""
    return _frames.decode(line)


def line_of(answer: dict[str, object]) -> bytes:
    """Give an answer as a line."""
    return msgspec.json.encode(answer) + b"\n"
