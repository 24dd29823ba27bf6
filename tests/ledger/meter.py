"""What a piece of the program costs the database: rows that it visits and statements, never seconds."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pondage.ledger.database.driver import Driver, Row, Transaction, Value

GROWING = {
    "executions", "dispatches", "runs", "snapshots", "run_outputs", "history", "advancements", "signals",
    "availabilities", "processes", "outbox", "ponds", "pond_sources", "schedules",
}  # fmt: skip
MANY_STEPS = 2_000


class Meter:
    """A driver around another one that measures every statement."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.dialect = driver.dialect
        self.counts = driver.counts
        self.statements = 0
        self.visited = 0
        """Rows that PostgreSQL looked at, or steps of SQLite's machine: both grow with what is visited."""
        self.scans: list[str] = []
        self.costs: list[tuple[int, str]] = []

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self.driver.transaction() as tx:
            yield self.metered(tx)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with self.driver.reading() as tx:
            yield self.metered(tx)

    def metered(self, tx: Transaction) -> Any:
        return _Sqlite(self, tx) if self.dialect == "sqlite" else _Postgres(self, tx)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.driver, name)

    def note(self, statement: str, visited: int) -> None:
        self.statements += 1
        self.visited += visited
        self.costs.append((visited, " ".join(statement.split())))


class _Metered:
    def __init__(self, meter: Meter, tx: Transaction) -> None:
        object.__setattr__(self, "_meter", meter)
        object.__setattr__(self, "_tx", tx)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._tx, name, value)

    rows, row, one = Transaction.rows, Transaction.row, Transaction.one

    def read(self, statement: str, values: dict[str, Value]) -> list[Row]:
        found: list[Row] = self.measured(statement, values, lambda: self._tx.read(statement, values))
        return found

    def change(self, statement: str, **values: Value) -> int:
        changed: int = self.measured(statement, values, lambda: self._tx.change(statement, **values))
        return changed

    def insert(self, statement: str, **values: Value) -> int:
        made: int = self.measured(statement, values, lambda: self._tx.insert(statement, **values))
        return made

    def write(self, statement: str, **values: Value) -> None:
        self.change(statement, **values)

    def write_one(self, statement: str, **values: Value) -> None:
        assert self.change(statement, **values) == 1

    def ahead(self, statement: str, **values: Value) -> Any:
        found = self.read(statement, values)
        return lambda: found

    def measured(self, statement: str, values: dict[str, Value], run: Any) -> Any:
        raise NotImplementedError


class _Sqlite(_Metered):
    """Counts the steps of SQLite's virtual machine and reads its query plan."""

    def measured(self, statement: str, values: dict[str, Value], run: Any) -> Any:
        connection: sqlite3.Connection = self._tx._connection
        plan = [str(row["detail"]) for row in self._tx.rows(f"EXPLAIN QUERY PLAN {statement}", **values)]
        steps = 0

        def count() -> int:
            nonlocal steps
            steps += 1
            return 0

        connection.set_progress_handler(count, 1)
        try:
            return run()
        finally:
            connection.set_progress_handler(None, 0)
            self._meter.note(statement, steps)
            # A scan that a LIMIT ends at once is none.
            if steps > MANY_STEPS:
                self._meter.scans += [f"{line}: {statement}" for line in plan if _is_scan(line, statement)]


class _Postgres(_Metered):
    """Asks PostgreSQL what it visited; a statement that writes is only planned."""

    def measured(self, statement: str, values: dict[str, Value], run: Any) -> Any:
        visited = 0
        words = statement.lstrip().upper()
        if not words.startswith("INSERT"):
            is_read = words.startswith(("SELECT", "WITH"))
            options = "ANALYZE, TIMING OFF, FORMAT JSON" if is_read else "FORMAT JSON"
            (row,) = self._tx.rows(f"EXPLAIN ({options}) {statement}", **values)
            plan = row["QUERY PLAN"]
            (explained,) = json.loads(plan) if isinstance(plan, str) else plan
            visited = sum(self._visited(node, statement, is_read) for node in _nodes(explained["Plan"]))
        answer = run()
        self._meter.note(statement, visited)
        return answer

    def _visited(self, node: dict[str, Any], statement: str, is_read: bool) -> int:
        if "Relation Name" not in node:
            return 0
        if node["Node Type"] == "Seq Scan" and node["Relation Name"] in GROWING:
            # A plan of a statement that writes cannot tell how many rows it would visit: the table may be tiny.
            if not is_read and node["Plan Rows"] < 1_000:
                return 0
            rows = node.get("Actual Rows", node["Plan Rows"]) + node.get("Rows Removed by Filter", 0)
            if rows > 1_000:
                self._meter.scans.append(f"Seq Scan on {node['Relation Name']}: {statement}")
        if not is_read:
            return 0
        removed = sum(node.get(f"Rows Removed by {what}", 0) for what in ("Filter", "Index Recheck"))
        return int((node["Actual Rows"] + removed) * node["Actual Loops"])


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for each in plan.get("Plans", []):
        yield from _nodes(each)


def _is_scan(line: str, statement: str) -> bool:
    words = line.split()
    return words[0] == "SCAN" and "INDEX" not in words and words[1] in _tables(statement)


def _tables(statement: str) -> set[str]:
    """The growing tables of a statement, also under the names that it gives them."""
    words = statement.replace(",", " ").replace("(", " ").replace(")", " ").split()
    found: set[str] = set()
    for place, word in enumerate(words):
        if word in GROWING:
            found |= {word, words[place + 1] if place + 1 < len(words) else word}
    return found
