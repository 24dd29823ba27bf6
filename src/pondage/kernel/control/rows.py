"""How the machine asks its host for rows: lazily, and only for those that an event touches."""

from __future__ import annotations

from typing import Protocol

from pondage.kernel.control.state import Row


class Rows(Protocol):
    """The rows of one run. Within one step the same key gives the same object, which the machine mutates."""

    def get(self, table: str, key: str) -> Row | None:
        """Give a row to advance in place, or None when it does not exist yet."""

    def put(self, table: str, key: str, row: Row) -> None:
        """Keep a new row; `get` answers it from now on."""


class MemoryRows:
    """Rows in dictionaries: for the simulator and for tests. `reads` counts what the machine asked for."""

    def __init__(self) -> None:
        """Start without rows."""
        self.tables: dict[str, dict[str, Row]] = {}
        self.reads = 0

    def get(self, table: str, key: str) -> Row | None:
        """Give a row."""
        self.reads += 1
        return self.tables.get(table, {}).get(key)

    def put(self, table: str, key: str, row: Row) -> None:
        """Keep a row."""
        self.tables.setdefault(table, {})[key] = row
