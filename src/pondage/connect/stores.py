"""Where files lie: which file system a place is on, for whoever reads it without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from pondage.errors import PondageError


def store_of(place: str, *, code: str) -> tuple[fs.FileSystem, str]:
    """Answer the file system of a place, and the path in it; raises `PondageError` with this code."""
    if place.startswith("file:"):
        place = "/" + place.removeprefix("file:").lstrip("/")
    if "://" not in place:
        return fs.LocalFileSystem(), str(Path(place).absolute())
    try:
        # Hadoop's names for the same stores.
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(place.replace("s3a://", "s3://", 1))
    except (pa.ArrowException, ValueError, OSError) as error:
        raise PondageError(f"{place} cannot be read from here: {error}", code=code) from None
    return found
