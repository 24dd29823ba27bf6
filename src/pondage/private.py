"""Files and directories that only their owner may read or enter, whatever the umask of who makes them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

OTHERS = 0o077
"""What everybody but the owner may do."""


def make_private(directory: Path) -> None:
    """Make a directory, with those above it that are missing. One that exists stays as it is: its owner chose so."""
    missing = [each for each in (directory, *directory.parents) if not each.exists()]
    for each in reversed(missing):
        with suppress(FileExistsError):  # somebody was faster
            each.mkdir(mode=0o700)


def make_private_file(path: Path) -> None:
    """Make an empty file, for somebody who opens it by its name; one that exists stays as it is."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def private_opener(path: str, flags: int) -> int:
    """Open a file for `open(…, opener=…)`; when that makes it, only its owner may read it."""
    return os.open(path, flags, 0o600)


def is_open(path: Path) -> bool:
    """Answer whether others may read, write or enter what is there."""
    try:
        return bool(path.stat().st_mode & OTHERS)
    except OSError:
        return False
