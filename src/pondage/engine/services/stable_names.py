"""Stable names for outside readers: `CURRENT.json` and the link `current`, replaced whole or not at all."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from pondage.define.pond.partition import Partition
from pondage.define.values.names import checked_name
from pondage.engine.process.local import local_warehouse
from pondage.engine.process.places import table_directory
from pondage.ledger.act.removal import Unpublish
from pondage.ledger.database.mapping import of_row
from pondage.ledger.upkeep.retention import Published, PublishedTable

LOCK_PATIENCE_S = 1.0
LOCK_PAUSE_S = 0.01


class Current(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `CURRENT.json` holds. `files` are full paths; `order` grows with every publication of the Pond.

    Of a table in partitions `by` are their columns, and `partitions` has the values of each file.
    """

    snapshot: str
    run: str
    freshness: int
    path: str
    files: tuple[str, ...]
    schema: msgspec.Raw
    rows: int
    bytes: int
    order: int
    by: tuple[str, ...] = ()
    partitions: tuple[Partition | None, ...] = ()


def publish(warehouse: str, published: Published) -> list[Path]:
    """Let the stable names of a Pond show its current Run; answer the files that were replaced.

    Doing it twice changes nothing, and an older Run never replaces a newer one: two processes may do it at once. A
    warehouse on another file system has no links and no rename: there is nothing to do.
    """
    root = local_warehouse(warehouse)
    if root is None:
        return []
    replaced = []
    for table in published.tables:
        directory = _directory(root, published, table.ripple)
        directory.mkdir(parents=True, exist_ok=True)
        with _locked(directory):
            if _replace(directory, published, table):
                replaced.append(directory / "CURRENT.json")
    _withdraw(root, published)
    return replaced


def unpublish(warehouse: str, order: Unpublish) -> None:
    """Take the stable names of a removed environment away, but those that a newer one of the same name renewed."""
    root = local_warehouse(warehouse)
    if root is None:
        return
    place = root / "tables" / checked_name(order.environment)
    for pond, major in order.ponds:
        version = place / checked_name(pond) / f"v{major}"
        for directory in sorted(version.glob("*")):
            shown = _shown(directory / "CURRENT.json")
            if shown is None or shown.order <= order.order:
                shutil.rmtree(directory)
        _remove_empty(version)
        _remove_empty(version.parent)
    _remove_empty(place)


def _remove_empty(directory: Path) -> None:
    # Somebody may have put something into it, and it may never have been there.
    with suppress(OSError):
        directory.rmdir()


def _withdraw(root: Path, published: Published) -> None:
    """Take the stable names away of Ripples that the Pond no longer has: they were removed, or fused.

    No table is better than one that is never renewed and whose files go one day.
    """
    names = {table.ripple for table in published.tables}
    if not names:
        return
    for file in _directory(root, published, min(names)).parent.glob("*/CURRENT.json"):
        if file.parent.name not in names:
            with _locked(file.parent):
                shown = _shown(file)
                if shown is None or shown.order < published.order:
                    (file.parent / "current").unlink(missing_ok=True)
                    file.unlink(missing_ok=True)


def _directory(root: Path, published: Published, ripple: str) -> Path:
    return table_directory(
        root, environment=published.environment, pond=published.pond, major=published.major, ripple=ripple
    )


def _replace(directory: Path, published: Published, table: PublishedTable) -> bool:
    file = directory / "CURRENT.json"
    shown = _shown(file)
    if shown is not None and shown.order > published.order:
        return False
    content = table.content
    link = directory / "current"
    # A table of many batches is in many directories: there is nothing that a link could show.
    target = _link_target(directory, content.path) if table.kind == "full" else None
    is_linked = (str(link.readlink()) if link.is_symlink() else None) == target
    is_shown = shown is not None and (shown.order, shown.snapshot) == (published.order, table.snapshot)
    if shown is not None and is_shown and is_linked and shown.files == content.paths:
        return False
    current = of_row(
        Current,
        content,
        snapshot=table.snapshot,
        run=published.run,
        freshness=table.freshness,
        files=content.paths,
        schema=msgspec.Raw(content.schema.encode()),
        order=published.order,
        by=content.by,
        partitions=tuple(file.partition for file in content.files) if content.by else (),
    )
    # The link first: CURRENT.json is what tells whether the whole was done.
    if target is None:
        link.unlink(missing_ok=True)
    else:
        _replace_link(link, target)
    _replace_file(file, msgspec.json.format(msgspec.json.encode(current), indent=2) + b"\n")
    return True


def _shown(file: Path) -> Current | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Current)
    except (OSError, msgspec.DecodeError):
        return None  # absent, or damaged by hand: written anew


def _link_target(directory: Path, path: str) -> str:
    """Answer the snapshot's directory as seen from the link, so that a moved warehouse keeps its links."""
    place = local_warehouse(path)
    return path if place is None else os.path.relpath(place, directory)


def _replace_file(file: Path, data: bytes) -> None:
    scratch = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        with scratch.open("wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        scratch.replace(file)
    finally:
        scratch.unlink(missing_ok=True)
    _sync_directory(file.parent)


def _replace_link(link: Path, target: str) -> None:
    scratch = link.with_name(f".{link.name}.{secrets.token_hex(4)}")
    try:
        scratch.symlink_to(target)
        scratch.replace(link)
    finally:
        scratch.unlink(missing_ok=True)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Keep a second publisher out between the look at the order and the replacement.

    Raises `TimeoutError` when the other one does not go on: it may be frozen with the lock, and nobody may wait for it
    for ever, nor pass it by, because it would replace what is newer when it wakes.
    """
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        _lock(descriptor, directory)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, directory: Path) -> None:
    deadline_s = time.monotonic() + LOCK_PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline_s:
                raise TimeoutError(f"another process publishes {directory} and does not go on") from None
            time.sleep(LOCK_PAUSE_S)
        except OSError:
            return  # a file system without locks: then the order is still looked at, in a smaller window
        else:
            return
