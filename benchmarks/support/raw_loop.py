"""The raw claim-and-commit loop: what two durable transactions for each hop cost with the least that is honest.

A hop is claimed with a token (find the next available row, take it, write the token) and committed with a guard
(close it if the token still holds it, write what was made, make the next hop available). Hand-written statements, no
machine, no history. The same connection settings as the ledger's.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import psycopg

_TABLES = (
    "CREATE TABLE executions (id {serial} PRIMARY KEY, hop INTEGER NOT NULL, token TEXT UNIQUE, outcome TEXT)",
    "CREATE TABLE availabilities (execution BIGINT PRIMARY KEY REFERENCES executions, priority INTEGER NOT NULL)",
    "CREATE INDEX availabilities_next ON availabilities (priority, execution)",
    "CREATE TABLE snapshots (id {serial} PRIMARY KEY, execution BIGINT REFERENCES executions, content TEXT NOT NULL)",
)
_CONTENT = '{"path":"somewhere","files":[],"rows":1,"bytes":10}'


class RawLoop(Protocol):
    """One database with the tables of the loop."""

    def chain(self, length: int) -> int:
        """Do a chain of so many hops, one after the other, and answer how many transactions that took."""

    def close(self) -> None:
        """Release the connection."""


class SqliteLoop:
    """The loop on a SQLite file: WAL, every commit on the disk before it is answered."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode=WAL", "foreign_keys=ON", "synchronous=FULL"):
            self._connection.execute(f"PRAGMA {pragma}")
        for table in _TABLES:
            self._connection.execute(table.format(serial="INTEGER"))

    def chain(self, length: int) -> int:
        """Do a chain of hops: one transaction to begin, two for each hop."""
        run = self._connection.execute
        run("BEGIN IMMEDIATE")
        self._enqueue(0)
        run("COMMIT")
        for hop in range(length):
            token = uuid4().hex
            run("BEGIN IMMEDIATE")
            (execution,) = run(
                "SELECT execution FROM availabilities WHERE priority = 1 ORDER BY execution LIMIT 1"
            ).fetchone()
            run("DELETE FROM availabilities WHERE execution = ?", (execution,))
            run("UPDATE executions SET token = ? WHERE id = ? AND token IS NULL", (token, execution))
            run("COMMIT")
            run("BEGIN IMMEDIATE")
            closed = run("UPDATE executions SET outcome = 'ok' WHERE token = ? AND outcome IS NULL", (token,)).rowcount
            assert closed == 1
            run("INSERT INTO snapshots (execution, content) VALUES (?, ?)", (execution, _CONTENT))
            if hop + 1 < length:
                self._enqueue(hop + 1)
            run("COMMIT")
        return 2 * length + 1

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _enqueue(self, hop: int) -> None:
        execution = self._connection.execute("INSERT INTO executions (hop) VALUES (?)", (hop,)).lastrowid
        self._connection.execute("INSERT INTO availabilities (execution, priority) VALUES (?, 1)", (execution,))


class PostgresLoop:
    """The loop on a PostgreSQL server, each statement prepared and answered before the next, as usual."""

    def __init__(self, url: str, schema: str) -> None:
        self._connection = psycopg.connect(
            url, autocommit=True, prepare_threshold=3, options=f"-c search_path={schema}"
        )
        for table in _TABLES:
            self._connection.execute(table.format(serial="BIGINT GENERATED ALWAYS AS IDENTITY").encode())

    def chain(self, length: int) -> int:
        """Do a chain of hops: one transaction to begin, two for each hop."""
        run = self._connection.execute
        run("BEGIN")
        self._enqueue(0)
        run("COMMIT")
        for hop in range(length):
            token = uuid4().hex
            run("BEGIN")
            found = run(
                "SELECT execution FROM availabilities WHERE priority = 1 ORDER BY execution LIMIT 1 "
                "FOR UPDATE SKIP LOCKED"
            ).fetchone()
            assert found is not None
            run("DELETE FROM availabilities WHERE execution = %s", found)
            run("UPDATE executions SET token = %s WHERE id = %s AND token IS NULL", (token, found[0]))
            run("COMMIT")
            run("BEGIN")
            closed = run("UPDATE executions SET outcome = 'ok' WHERE token = %s AND outcome IS NULL", (token,)).rowcount
            assert closed == 1
            run("INSERT INTO snapshots (execution, content) VALUES (%s, %s)", (found[0], _CONTENT))
            if hop + 1 < length:
                self._enqueue(hop + 1)
            run("COMMIT")
        return 2 * length + 1

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _enqueue(self, hop: int) -> None:
        made = self._connection.execute("INSERT INTO executions (hop) VALUES (%s) RETURNING id", (hop,)).fetchone()
        assert made is not None
        self._connection.execute("INSERT INTO availabilities (execution, priority) VALUES (%s, 1)", made)
