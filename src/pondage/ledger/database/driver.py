"""What a database must do for the ledger: transactions, bound statements, a clock and a hint that something changed.

Statements are written once, in the SQL that both databases share, with two conventions that a driver resolves:
`:now` is the transaction's time (and `:clock` the time of the statement), and the comments `/*lock*/`, `/*lock skip*/`,
`/*exclusive*/`, `/*exclusive skip*/` and `/*share*/` stand for row locks, which SQLite does not need because its
transactions exclude each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Protocol, overload

import msgspec

from pondage.errors import LedgerError
from pondage.ledger.database.mapping import Kind, first, mapped

Value = str | int | float | bytes | None
Row = dict[str, "object"]


class LedgerUnavailable(LedgerError):
    """The database did not answer: locked for too long, a full disk, a connection that was cut. Try again later."""

    code = "LEDGER_UNAVAILABLE"


class UnfitValue(LedgerError):
    """A value that no column takes: a number beyond 64 bits, or text with a zero character in it."""

    code = "UNFIT_VALUE"


class Counts(msgspec.Struct):
    """How much was asked of the database: what the budgets of the tests count."""

    transactions: int = 0
    reads: int = 0
    statements: int = 0


class Transaction(Protocol):
    """One open transaction. It is committed when its block ends and undone when the block raises."""

    now: int
    """The database's time in microseconds; taking an actor's lock may move it forward, nothing else does."""

    @property
    def beat(self) -> int:
        """The time in which heartbeats are written and judged."""

    @property
    def boot(self) -> str:
        """What identifies the clock of `beat`: beats of different boots cannot be compared."""

    seen: dict[tuple[str, object], object]
    """What was learnt in this transaction and never changes; worth remembering once it is committed, not before."""

    def read(self, statement: str, values: dict[str, Value]) -> list[Row]:
        """Run a statement and answer its rows, each with a value for each column."""

    @overload
    def rows(self, statement: str, /, **values: Value) -> list[Row]: ...
    @overload
    def rows(self, statement: str, kind: type[Kind], /, **values: Value) -> list[Kind]: ...
    def rows(self, statement: str, kind: type[Kind] | None = None, /, **values: Value) -> list[Row] | list[Kind]:
        """Run a statement and answer its rows as values of a kind: see `mapping`."""
        found = self.read(statement, values)
        return found if kind is None else mapped(found, kind)

    @overload
    def row(self, statement: str, /, **values: Value) -> Row | None: ...
    @overload
    def row(self, statement: str, kind: type[Kind], /, **values: Value) -> Kind | None: ...
    def row(self, statement: str, kind: type[Kind] | None = None, /, **values: Value) -> Row | Kind | None:
        """Run a statement and answer its first row, or None; of a single column also None when that is null."""
        found = self.read(statement, values)
        if kind is not None:
            return first(found, kind)
        return found[0] if found else None

    def one(self, statement: str, kind: type[Kind], /, **values: Value) -> Kind:
        """Run a statement and answer its first row; raises `AssertionError` where `row` would answer None."""
        found = first(self.read(statement, values), kind)
        assert found is not None, f"no row: {statement}"
        return found

    def change(self, statement: str, **values: Value) -> int:
        """Run a statement and answer how many rows it changed."""

    def insert(self, statement: str, **values: Value) -> int:
        """Insert one row into a table whose key is `id`, and answer that."""

    def write(self, statement: str, **values: Value) -> None:
        """Run a statement whose answer nobody needs. It may be sent together with later ones, but before any read."""

    def write_one(self, statement: str, **values: Value) -> None:
        """Run a statement as `write` does; raises `AssertionError` when it did not change exactly one row."""

    def ahead(self, statement: str, **values: Value) -> Callable[[], list[Row]]:
        """Ask for rows that are needed soon: sent together with the next statement that is answered, in their order."""

    def savepoint(self) -> AbstractContextManager[None]:
        """Open a block whose changes alone are undone when it raises."""

    def server_age_us(self) -> int | None:
        """Answer how long the server has been up; None where there is no server that could have been down."""

    def sign(self, process: int) -> None:
        """Remember whose connections these are, so that others can find them."""

    def announce(self, process: int) -> None:
        """Hold a lock for as long as this connection lives, so that others can see when it ends."""

    def is_gone(self, process: int) -> bool:
        """Answer whether the announced connection of a process has ended. A suspicion, not a proof."""

    def evict(self, process: int) -> int:
        """End the transactions that a process has open, and answer how many there were."""


class Driver(Protocol):
    """A database. One object for a process; safe to use from several threads."""

    dialect: str
    counts: Counts

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open a transaction that writes."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """Open a transaction that only reads, and sees one moment."""

    def script(self, statements: str) -> None:
        """Run a migration."""

    def changes(self) -> Changes:
        """Answer a new watch for changes that anybody commits."""

    def sever(self) -> None:
        """Cut every connection from another thread: whoever waits for an answer gets `LedgerUnavailable` at once."""

    def close(self) -> None:
        """Give the connections back."""


class Changes(Protocol):
    """A hint that something was committed. Hints may be late or missing: whoever waits also polls."""

    def wait(self, seconds: float) -> bool:
        """Wait until something was committed since the last call, at most `seconds`; answer whether it was."""

    def wake(self) -> None:
        """End a running wait of this object from another thread."""

    def close(self) -> None:
        """Give the connection back."""


def check_text(values: Mapping[str, Value]) -> None:
    """Refuse text with a zero character: PostgreSQL would take what stands before it for the whole."""
    for value in values.values():
        if type(value) is str and "\0" in value:
            name = next(name for name, each in values.items() if each is value)
            raise UnfitValue(f"the text of {name} has a zero character in it")


def text(row: Row, column: str) -> str:
    """Answer a column that holds text and is never null."""
    value = row[column]
    assert isinstance(value, str), (column, value)
    return value


def number(row: Row, column: str) -> int:
    """Answer a column that holds an integer and is never null."""
    value = row[column]
    assert isinstance(value, int), (column, value)
    return value


def number_or_none(row: Row, column: str) -> int | None:
    """Answer a column that holds an integer or null."""
    value = row[column]
    assert value is None or isinstance(value, int), (column, value)
    return value


def text_or_none(row: Row, column: str) -> str | None:
    """Answer a column that holds text or null."""
    value = row[column]
    assert value is None or isinstance(value, str), (column, value)
    return value


def numbered(names: str, values: Sequence[int | str]) -> tuple[str, dict[str, Value]]:
    """Answer the placeholders and the values for an `IN (…)` over a short list of ids, or of names."""
    marks, keys = _marks(names, len(values))
    return marks, dict(zip(keys, values, strict=True))


@lru_cache(maxsize=2_000)
def _marks(names: str, count: int) -> tuple[str, list[str]]:
    keys = [f"{names}{position}" for position in range(count)]
    return ", ".join(f":{key}" for key in keys), keys


def batches(values: list[int], size: int = 500) -> Iterator[list[int]]:
    """Answer the values in pieces that a statement can bind."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
