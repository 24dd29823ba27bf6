"""Copies of the ledger: taking one while it is in use, putting one back, and looking whether its data is there."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from pondage.engine.process import identity
from pondage.engine.process.config import shown_url
from pondage.engine.process.local import local_warehouse
from pondage.errors import LedgerError
from pondage.ledger.commit.journal import journals_of
from pondage.ledger.database.migrate import migrate, migrations
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.upkeep import retention
from pondage.ledger.upkeep.retention import NamedSnapshot
from pondage.private import make_private, make_private_file


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """Which of the snapshots that a ledger names were looked at, and which of them have no files."""

    looked_at: int
    missing: tuple[NamedSnapshot, ...] = ()


def backup(ledger: Ledger, target: Path) -> int:
    """Copy a SQLite ledger to a file while others use it, and answer the size of the copy.

    The copy shows one moment; the journals of reactors are copied beside it. It appears whole or not at all, and
    nothing that exists is overwritten. A ledger on PostgreSQL is refused with the name of the tool for it.
    """
    driver = _sqlite(ledger, "pg_dump --format=custom --file={file}", target)
    if target.exists():
        raise LedgerError(f"{target} exists already", hint="give another name, or move it away", code="FILE_EXISTS")
    make_private(target.parent)
    unfinished = target.with_name(f"{target.name}.unfinished-{os.getpid()}")
    try:
        driver.backup(unfinished)
        copy_journals(driver.path, target)
        unfinished.rename(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return target.stat().st_size


def restore(ledger: Ledger, source: Path) -> Path:
    """Put a copy in the place of a SQLite ledger, and answer where what was there is kept.

    Refused while a process works for the ledger, and for a file that is no ledger of this or an older Pondage.
    """
    driver = _sqlite(ledger, "pg_restore --clean --if-exists --dbname={url} {file}", source)
    if not source.is_file():
        raise LedgerError(f"there is no file {source}", hint="name a file that pondage backup wrote", code="NO_FILE")
    if working := _working(ledger):
        raise LedgerError(
            f"the ledger is in use by {', '.join(working)}",
            hint="end `pondage dev` and every `pondage worker` first",
            code="LEDGER_IN_USE",
        )
    _check_copy(ledger, source)
    kept = _free_name(driver.path)
    driver.backup(kept)
    with closing(sqlite3.connect(source)) as copy, closing(sqlite3.connect(driver.path)) as place:
        copy.backup(place)
    copy_journals(driver.path, kept)
    copy_journals(source, driver.path)
    migrate(driver)
    return kept


def _working(ledger: Ledger) -> list[str]:
    """Answer who works for the ledger: beats, and when it is of this machine, its process runs."""
    here, limit_us = identity.machine(), int(ledger.durability.reap_after_s * 1e6)
    with ledger.reading() as tx:
        rows = processes.alive(tx)
        silent = {row.id for row in processes.stale(tx, older_than_us=limit_us, not_id=None)}
    return [
        f"{row.role} {row.public_id} (pid {row.pid})"
        for row in rows
        if row.id not in silent and (row.machine != here or identity.is_running(row.pid, row.pid_started))
    ]


def check_snapshots(ledger: Ledger, warehouse: str) -> Checked | None:
    """Look whether the files of every snapshot that the ledger names are there; None when they are not on this
    machine's file system."""
    if local_warehouse(warehouse) is None:
        return None
    missing: list[NamedSnapshot] = []
    looked_at, after = 0, 0
    while True:
        with ledger.reading() as tx:
            named = retention.named(tx, after=after)
        if not named:
            return Checked(looked_at=looked_at, missing=tuple(missing))
        looked_at += len(named)
        after = named[-1].id
        missing += [each for each in named if not _has_files(each)]


def _has_files(snapshot: NamedSnapshot) -> bool:
    place = local_warehouse(snapshot.path)
    return place is None or all((place / name).is_file() for name in snapshot.files)


def _sqlite(ledger: Ledger, tool: str, file: Path) -> SqliteDriver:
    if isinstance(ledger.driver, SqliteDriver):
        return ledger.driver
    url = shown_url(getattr(ledger.driver, "url", ""))
    command = tool.format(file=file, url=url) + ("" if "{url}" in tool else f" {url}")
    raise LedgerError(
        "a ledger on PostgreSQL is copied with PostgreSQL's own tools",
        hint=f"{command}; after restoring one: pondage restore --check",
        code="NOT_SQLITE",
    )


def _check_copy(ledger: Ledger, source: Path) -> None:
    """Raise `LedgerError` unless the file is a ledger that this program can use."""
    try:
        with closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as copy:
            (result,) = copy.execute("PRAGMA quick_check").fetchone()
            version, oldest = copy.execute("SELECT max(version), max(oldest) FROM schema_version").fetchone()
    except sqlite3.Error as error:
        raise LedgerError(
            f"{source} is no ledger: {error}", hint="name a file that pondage backup wrote", code="NO_LEDGER"
        ) from None
    if result != "ok":
        raise LedgerError(f"{source} is damaged: {result}", hint="use an older copy", code="LEDGER_DAMAGED")
    known = migrations(ledger.driver.dialect)[-1].version
    if oldest > known:
        raise LedgerError(
            f"{source} has schema {version}, and this Pondage knows only {known}",
            hint="install the newer Pondage that made it: pip install --upgrade pondage",
            code="LEDGER_NEWER",
        )


def _free_name(path: Path) -> Path:
    number = 1
    while (kept := path.with_name(f"{path.name}.before-restore-{number}")).exists():
        number += 1
    return kept


def copy_journals(ledger: Path, target: Path) -> int:
    """Copy every journal beside one ledger file to beside another, while they are in use; answer how many."""
    found = sorted(journals_of(ledger).glob("*.db"))
    place = journals_of(target)
    for path in found:
        make_private(place)
        make_private_file(place / path.name)
        with closing(sqlite3.connect(path)) as journal, closing(sqlite3.connect(place / path.name)) as copy:
            journal.backup(copy)
    return len(found)
