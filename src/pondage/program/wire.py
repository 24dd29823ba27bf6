"""Messages on the socket: a length in four bytes, a JSON header of that length, and as many bytes as it says."""

from __future__ import annotations

import socket
import struct

import msgspec

from pondage.program.frames import FrameError

MAX_HEADER = 65_536
MAX_BODY = 256 * 1_048_576
ERROR = "error"


class HungUp(FrameError):
    """A message that ends before it is whole: its sender has died, and sent nothing wrong."""


class Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a message is about; answers have the same shape. `code` and `message` come with the verb `error`."""

    verb: str
    port: str = ""
    body: int = 0
    code: str = ""
    message: str = ""


_headers = msgspec.json.Decoder(Header)


def send(connection: socket.socket, header: Header, body: bytes = b"") -> None:
    """Send a message; its header says how long the body is."""
    encoded = msgspec.json.encode(msgspec.structs.replace(header, body=len(body)))
    connection.sendall(struct.pack(">I", len(encoded)) + encoded + body)


def receive(connection: socket.socket) -> tuple[Header, bytes] | None:
    """Answer the next message, None when the other side has hung up between two; raises `FrameError`.

    After that nobody knows where the next message begins: a connection that raised is of no use any more.
    """
    start = _exactly(connection, 4, may_end=True)
    if start is None:
        return None
    (length,) = struct.unpack(">I", start)
    if length > MAX_HEADER:
        raise FrameError(f"a header has {length} bytes, at most {MAX_HEADER} are allowed")
    encoded = _exactly(connection, length)
    assert encoded is not None
    try:
        header = _headers.decode(encoded)
    except msgspec.DecodeError as error:
        raise FrameError(f"a header is no JSON of the right shape: {error}") from None
    if not 0 <= header.body <= MAX_BODY:
        raise FrameError(f"a body has {header.body} bytes, at most {MAX_BODY} are allowed")
    return header, _exactly(connection, header.body) or b""


def _exactly(connection: socket.socket, size: int, *, may_end: bool = False) -> bytes | None:
    parts, left = [], size
    while left:
        part = connection.recv(min(left, 1_048_576))
        if not part:
            if may_end and left == size:
                return None
            raise HungUp("the other side hung up in the middle of a message")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
