"""The file that a verb was told to write: replaced when everything is there, untouched when something failed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pondage.errors import PondageError


@contextmanager
def replacing(path: Path, *, offset: int = 0, is_resumable: bool = False) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes the place of `path` at the end; what is there stays when anything raises.

    With `offset` it begins with so many bytes of what is there. One that `is_resumable` leaves what was written before
    a failure beside it, as `FILE.part`, and begins with that. A device or a pipe is written to as it is. Raises
    `PondageError` when it cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as device:
                yield device
            return
        # A link stays one: what it names is replaced.
        place = path.resolve()
        part = place.with_name(f"{place.name}.part" if is_resumable else f".{place.name}.{os.getpid()}.part")
        _require(place, part, offset)
        with part.open("r+b" if part.exists() and offset else "w+b") as file:
            _begin(file, place, offset)
            try:
                yield file
                file.flush()
                os.fsync(file.fileno())
            except BaseException:
                if not is_resumable or not file.tell():
                    part.unlink()
                raise
        if place.exists():
            part.chmod(place.stat().st_mode)
        part.replace(place)
    except OSError as error:
        raise PondageError(f"cannot write {path}: {error.strerror or error}", code="CANNOT_WRITE") from error


def replace_text(path: Path, text: str) -> None:
    """Write a file of text whole, or leave what is there as it is; raises `PondageError`."""
    with replacing(path) as file:
        file.write(text.encode())


def _require(place: Path, part: Path, offset: int) -> None:
    has = max((each.stat().st_size for each in (place, part) if each.is_file()), default=0)
    if has < offset:
        raise PondageError(
            f"{place} has {has:,} bytes, and what is fetched shall begin at {offset:,}",
            hint=f"--offset {has}, or leave --offset out to fetch all of it",
            code="BAD_OFFSET",
        )


def _begin(file: BinaryIO, place: Path, offset: int) -> None:
    """Go to the offset: behind what an earlier attempt left, else behind that much of the file that is there."""
    has = file.seek(0, os.SEEK_END)
    if has < offset:
        with place.open("rb") as before:
            before.seek(has)
            while has < offset and (chunk := before.read(min(1 << 20, offset - has))):
                has += file.write(chunk)
    file.seek(offset)
    file.truncate()
