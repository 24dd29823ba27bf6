"""A driver that lets nobody write a Pond behind the back of those who remember it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from pondage.ledger.database.sqlite import SqliteDriver, SqliteTransaction

_SOURCES = "JOIN ponds p ON p.environment = s.environment AND p.name = s.source_name AND p.major = s.source_major"
_WRITE = "INSERT OR IGNORE INTO written SELECT actor FROM ({which}) WHERE actor NOT IN (SELECT actor FROM edited);"
_OF_ROW = _WRITE.format(which="SELECT {row}.actor AS actor")
_WHOM_IT_READS = _WRITE.format(
    which=f"SELECT p.actor AS actor FROM pond_sources s {_SOURCES} WHERE s.pond = {{row}}.id"
)
_OF_EDGE = _WRITE.format(
    which="""SELECT actor FROM ponds
             WHERE id = {row}.pond OR (environment = {row}.environment AND name = {row}.source_name
                                       AND major = {row}.source_major AND removed_at IS NULL)"""
)

_WATCHES = f"""
CREATE TEMP TABLE written (actor INTEGER PRIMARY KEY);
CREATE TEMP TABLE edited (actor INTEGER PRIMARY KEY);
CREATE TEMP TRIGGER actor_made AFTER INSERT ON main.actors BEGIN INSERT OR IGNORE INTO edited VALUES (NEW.id); END;
CREATE TEMP TRIGGER actor_edited AFTER UPDATE OF edits ON main.actors
WHEN NEW.edits <> OLD.edits BEGIN INSERT OR IGNORE INTO edited VALUES (NEW.id); END;
CREATE TEMP TRIGGER actor_stepped AFTER UPDATE OF version ON main.actors WHEN NEW.version <> OLD.version
BEGIN DELETE FROM edited WHERE actor = NEW.id; DELETE FROM written WHERE actor = NEW.id; END;
CREATE TEMP TRIGGER pond_made AFTER INSERT ON main.ponds BEGIN {_OF_ROW.format(row="NEW")} END;
CREATE TEMP TRIGGER pond_changed AFTER UPDATE ON main.ponds
BEGIN {_OF_ROW.format(row="OLD")} {_OF_ROW.format(row="NEW")} END;
CREATE TEMP TRIGGER pond_removed AFTER UPDATE OF removed_at ON main.ponds BEGIN {_WHOM_IT_READS.format(row="NEW")} END;
CREATE TEMP TRIGGER pond_deleted AFTER DELETE ON main.ponds BEGIN {_OF_ROW.format(row="OLD")} END;
CREATE TEMP TRIGGER edge_made AFTER INSERT ON main.pond_sources BEGIN {_OF_EDGE.format(row="NEW")} END;
CREATE TEMP TRIGGER edge_gone AFTER DELETE ON main.pond_sources BEGIN {_OF_EDGE.format(row="OLD")} END;
"""


class WatchedDriver(SqliteDriver):
    """SQLite, and whoever writes something of a catchment's Ponds has edited it before, or steps it in the same go."""

    @contextmanager
    def transaction(self) -> Iterator[SqliteTransaction]:
        """Open a transaction that is looked at before it is committed."""
        with self._held() as connection:
            _watch(connection)
            with super().transaction() as tx:
                yield tx
                _check(connection)


def _watch(connection: sqlite3.Connection) -> None:
    is_there = "SELECT (SELECT count(*) FROM main.sqlite_schema WHERE name = 'pond_sources') AS ledger"
    is_watched = "(SELECT count(*) FROM temp.sqlite_schema WHERE name = 'written') AS watched"
    ledger, watched = connection.execute(f"{is_there}, {is_watched}").fetchone()
    if ledger and not watched:
        connection.executescript(_WATCHES)


def _check(connection: sqlite3.Connection) -> None:
    if connection.execute("SELECT 1 FROM temp.sqlite_schema WHERE name = 'written'").fetchone() is None:
        return
    found = connection.execute("SELECT actor FROM written").fetchall()
    assert not found, (
        f"Ponds of the actors {[row[0] for row in found]} were written, and others may still remember them"
    )
    connection.execute("DELETE FROM edited")
