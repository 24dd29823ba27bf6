"""Publishing to a table format: which versions are missing, the files they need, and one commit for each.

A format keeps links to the data files in its own directory: so its older versions can be read for as long as retention
says, whatever `vacuum` does with the snapshots, and a link costs neither time nor space.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Protocol

import msgspec

from pondage.errors import PondageError
from pondage.ledger.upkeep.publications import Shown, Version
from pondage.work.snapshot import DataFile


class LinkedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A data file as a table format sees it: `name` is relative to the format's directory of data files."""

    name: str
    path: Path
    data: DataFile


class FormattedTable(Protocol):
    """One table in one format. `commit` makes exactly one version, with what `shown` answers in its properties."""

    data: Path

    def shown(self) -> Shown | None:
        """Answer what the current version says of itself; None when there is no table yet."""

    def files(self) -> set[str]:
        """Answer the names of the files of the current version."""

    def commit(self, version: Version, files: Sequence[LinkedFile]) -> None:
        """Make the version that has exactly these files."""


Missing = Callable[[Shown | None], list[Version]]


def publish_table(table: FormattedTable, missing: Missing, *, keep_s: float) -> int:
    """Make the versions that the table lacks, and answer how many. Doing it twice, or at once, makes none twice.

    What is missing is asked while nobody else publishes this table: a crash at any point leaves a table that says
    itself how far it is. Files that no version within `keep_s` needs are removed.
    """
    table.data.mkdir(parents=True, exist_ok=True)
    with _alone(table.data):
        versions = missing(table.shown())
        for version in versions:
            table.commit(version, _linked(table.data, version))
        if versions:
            _forget(table.data, table.files(), keep_s)
    return len(versions)


def needed(module: str, extra: str) -> ModuleType:
    """Import an optional package; raises `PondageError` (MISSING_EXTRA) that says how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        raise PondageError(
            f"this needs the package {error.name}, which is not installed",
            hint=f"pip install 'pondage[{extra}]'",
            code="MISSING_EXTRA",
        ) from None


def relinked(data: Path, file: LinkedFile, version: str) -> LinkedFile:
    """Answer the same file under a name that the table has not had: `version` is the snapshot that takes it in."""
    directory, _, name = file.name.partition("/")
    target = data / f"{version}.{directory}" / name
    if not target.exists():
        target.parent.mkdir(exist_ok=True)
        _link(file.path, target)
        _sync(target.parent)
    return LinkedFile(name=f"{version}.{directory}/{name}", path=target, data=file.data)


def original_name(name: str) -> str:
    """Answer the name that a file had before it was linked again."""
    directory, _, file = name.partition("/")
    return f"{directory.rpartition('.')[2]}/{file}"


def _linked(data: Path, version: Version) -> list[LinkedFile]:
    content = version.content
    linked = []
    for file, place in zip(content.files, content.paths, strict=True):
        source = Path(place.removeprefix("file:"))
        folder, plain = _link_name(source, file)
        target = data / folder / plain
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            _link(source, target)
            _sync(target.parent)
        linked.append(LinkedFile(name=f"{folder}/{plain}", path=target, data=file))
    _sync(data)
    return linked


def _link_name(source: Path, file: DataFile) -> tuple[str, str]:
    """Answer the directory and the name of a link. The directory is the execution's token: unique, and the ledger's.

    Files of partitions lie deeper, and have one name in several of them.
    """
    depth = len(file.partition or ())
    inside = "/".join(source.parts[-1 - depth : -1])
    return source.parents[
        depth
    ].name, f"{sha256(inside.encode()).hexdigest()[:16]}-{source.name}" if depth else source.name


def _link(source: Path, target: Path) -> None:
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        try:
            os.link(source, scratch)
        except OSError:
            if not source.exists():
                raise
            # Another disk, or a file system without links.
            shutil.copyfile(source, scratch)
        scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)


def _forget(data: Path, used: set[str], keep_s: float) -> None:
    """Remove directories of files that left the table longer ago than its versions are kept."""
    directories = {name.partition("/")[0] for name in used}
    now_s = time.time()
    for each in data.iterdir():
        if not each.is_dir() or each.name.startswith((".", "_")):
            continue
        mark = each / ".left"
        if each.name in directories:
            mark.unlink(missing_ok=True)
        elif not mark.exists():
            mark.touch()
        elif now_s - mark.stat().st_mtime > keep_s:
            shutil.rmtree(each, ignore_errors=True)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Keep other publishers of this table out."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
