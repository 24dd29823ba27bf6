"""Files of the warehouse that this machine can see."""

from __future__ import annotations

from pathlib import Path

from pondage.work.snapshot import SnapshotContent


def local_warehouse(warehouse: str) -> Path | None:
    """Answer the warehouse as a path of this machine, or None when it is on another file system."""
    if warehouse.startswith("file:"):
        return Path("/" + warehouse.removeprefix("file:").lstrip("/"))
    return None if "://" in warehouse else Path(warehouse)


def is_intact(content: SnapshotContent) -> bool:
    """Answer whether the files of a table are there and as long as they were; files elsewhere are taken on trust."""
    root = local_warehouse(content.path)
    if root is None:
        return True
    places = ((root / file.name, file.bytes) for file in content.files)
    return all(place.is_file() and place.stat().st_size == size for place, size in places)
