"""Frames of the wire protocol of programs: `0x00` and then bytes are data, exactly `0x01` is the end of a stream."""

from __future__ import annotations

from pondage.errors import PondageError

DATA, END = b"\x00", b"\x01"


class FrameError(PondageError):
    """Bytes that are no frame."""

    code = "DECODE_ERROR"


def framed(data: bytes) -> bytes:
    """Give data as a frame."""
    return DATA + data


def unframed(frame: bytes) -> bytes | None:
    """Give the data in a frame, None at the end of the stream; raises `FrameError` for anything else."""
    if frame == END:
        return None
    if frame[:1] != DATA:
        raise FrameError(f"a frame begins with 0x00 or is exactly 0x01; this one is {frame[:8]!r}")
    return frame[1:]


def milliseconds(data: bytes | None) -> int:
    """Read the body of a health frame: ASCII decimal milliseconds since 1970."""
    if data is None or not data.isdigit() or len(data) > 16:
        raise FrameError(f"health is ASCII decimal milliseconds since 1970, not {data!r}")
    return int(data)
