"""Copies of the journals beside a SQLite ledger: they go where the ledger's copy goes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from pondage.ledger.commit.journal import journals_of


def copy_journals(ledger: Path, target: Path) -> int:
    """Copy every journal beside one ledger file to beside another, while they are in use; answer how many."""
    found = sorted(journals_of(ledger).glob("*.db"))
    place = journals_of(target)
    for path in found:
        place.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as journal, closing(sqlite3.connect(place / path.name)) as copy:
            journal.backup(copy)
    return len(found)
