"""A driver that counts the rows that every transaction reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from pondage.ledger.database.driver import Driver, Row, Transaction, Value


class Tally:
    """Rows and bytes since the last `take`."""

    def __init__(self) -> None:
        self.statements = self.read = self.written = self.bytes = 0

    def take(self) -> tuple[int, int, int, int]:
        """Statements, rows read, rows written and bytes written since the last call."""
        taken = self.statements, self.read, self.written, self.bytes
        self.statements = self.read = self.written = self.bytes = 0
        return taken


class CountingTransaction:
    """Passes everything on, and counts what is asked."""

    def __init__(self, inner: Transaction, tally: Tally) -> None:
        object.__setattr__(self, "inner", inner)
        object.__setattr__(self, "tally", tally)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.inner, name, value)

    rows, row, one = Transaction.rows, Transaction.row, Transaction.one

    def read(self, statement: str, values: dict[str, Value]) -> list[Row]:
        found = self.inner.read(statement, values)
        self._count(statement, values, len(found))
        return found

    def change(self, statement: str, **values: Value) -> int:
        changed = self.inner.change(statement, **values)
        self._count(statement, values, changed)
        return changed

    def insert(self, statement: str, **values: Value) -> int:
        made = self.inner.insert(statement, **values)
        self._count(statement, values, 1)
        return made

    def write(self, statement: str, **values: Value) -> None:
        self.inner.write(statement, **values)
        self._count(statement, values, 1)

    def write_one(self, statement: str, **values: Value) -> None:
        self.inner.write_one(statement, **values)
        self._count(statement, values, 1)

    def ahead(self, statement: str, **values: Value) -> Callable[[], list[Row]]:
        found = self.read(statement, values)
        return lambda: found

    def _count(self, statement: str, values: dict[str, Value], rows: int) -> None:
        self.tally.statements += 1
        if statement.lstrip().startswith(("SELECT", "WITH")):
            self.tally.read += rows
        else:
            self.tally.written += rows
            self.tally.bytes += sum(len(value) for value in values.values() if isinstance(value, str | bytes))


class CountingDriver:
    """A driver whose transactions are counted."""

    def __init__(self, inner: Driver) -> None:
        self.inner = inner
        self.tally = Tally()

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def transaction(self) -> AbstractContextManager[CountingTransaction]:
        return self._counted(self.inner.transaction())

    def reading(self) -> AbstractContextManager[CountingTransaction]:
        return self._counted(self.inner.reading())

    @contextmanager
    def _counted(self, block: AbstractContextManager[Transaction]) -> Iterator[CountingTransaction]:
        with block as tx:
            yield CountingTransaction(tx, self.tally)
