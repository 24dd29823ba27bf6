"""Statements on a connection to PostgreSQL, as its own library sends them: prepared, and several in one go.

A step of the ledger is many small statements. What a cursor does for each of them costs more than the server's answer,
so this speaks through `psycopg.pq`, which is psycopg's documented way to the library beneath it.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Mapping, Sequence
from itertools import count

import msgspec
import psycopg
from psycopg import pq
from psycopg.abc import Buffer

from pondage.ledger.database.driver import Row, Value

PREPARE_AT = 2
"""What is asked this often is prepared: most of what a process asks, it asks again and again."""
MOST_PREPARED = 400
_TYPES: dict[type, int] = {int: 20, bool: 20, float: 701, bytes: 17}
"""What the server is told of a value's type; of text and of nothing it finds out itself."""
_GOOD = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)

Load = Callable[[Buffer], object]


class Statement(msgspec.Struct, frozen=True, eq=False):
    """A statement in PostgreSQL's words, and the names of the values that it binds in order."""

    text: bytes
    names: tuple[str, ...]


Asked = tuple[Statement, Mapping[str, Value]]


class _Known:
    """What a connection knows of one statement with one set of types."""

    __slots__ = ("columns", "name", "types", "used")

    def __init__(self, types: tuple[int, ...]) -> None:
        self.types = types
        self.used = 0
        self.name: bytes | None = None
        self.columns: list[tuple[int, str, Load]] | None = None


class Answer:
    """What a statement answered. Its rows are made when they are asked for."""

    __slots__ = ("_known", "_result")

    def __init__(self, result: pq.abc.PGresult, known: _Known) -> None:
        self._result = result
        self._known = known

    @property
    def changed(self) -> int:
        """How many rows it changed, or found."""
        return self._result.command_tuples or 0

    @property
    def rows(self) -> list[Row]:
        """The rows it answered."""
        result = self._result
        found = result.ntuples
        if found == 0:
            return []
        columns = self._known.columns
        if columns is None:
            columns = self._known.columns = [_column(result, at) for at in range(result.nfields)]
        value = result.get_value
        return [
            {name: None if (data := value(row, at)) is None else load(data) for at, name, load in columns}
            for row in range(found)
        ]


class Wire:
    """One connection, used by one thread at a time."""

    def __init__(self, connection: psycopg.Connection[dict[str, object]]) -> None:
        self._pgconn = connection.pgconn
        self._poll = select.poll()
        self._poll.register(self._pgconn.socket, select.POLLIN)
        self._known: dict[tuple[Statement, tuple[int, ...]], _Known] = {}
        self._numbers = count(1)

    def ask(self, asked: Sequence[Asked]) -> list[Answer]:
        """Send statements in one go and answer what each answered; raises what the first bad one met."""
        pgconn = self._pgconn
        if len(self._known) > MOST_PREPARED and pgconn.transaction_status == pq.TransactionStatus.IDLE:
            self._forget()
        is_done = False
        pgconn.enter_pipeline_mode()
        try:
            posted = [self._post(statement, values) for statement, values in asked]
            pgconn.pipeline_sync()
            results = self._results()
            pgconn.exit_pipeline_mode()
            is_done = True
        finally:
            if not is_done:
                # Nobody knows how much of it was read: nothing more can be asked here.
                pgconn.finish()
        for result in results:
            if result.status not in _GOOD:
                # What was to be prepared behind it was not.
                for known, _ in posted:
                    known.name = None
                raise _error(result)
        given = iter(results)
        return [Answer([next(given) for _ in range(count)][-1], known) for known, count in posted]

    def _post(self, statement: Statement, values: Mapping[str, Value]) -> tuple[_Known, int]:
        """Hand a statement to the library, preparing it when it comes again; answer how many results it will have."""
        given = [values[name] for name in statement.names]
        types = tuple([_TYPES.get(type(value), 0) for value in given])
        known = self._known.get((statement, types))
        if known is None:
            known = self._known[statement, types] = _Known(types)
        known.used += 1
        bound = [value.encode() if type(value) is str else _text(value) for value in given]
        formats = [pq.Format.BINARY if kind == 17 else pq.Format.TEXT for kind in types] if 17 in types else None
        if known.name is not None:
            self._pgconn.send_query_prepared(known.name, bound, formats)
            return known, 1
        if known.used < PREPARE_AT:
            self._pgconn.send_query_params(statement.text, bound, types, formats)
            return known, 1
        known.name = b"pondage%d" % next(self._numbers)
        self._pgconn.send_prepare(known.name, statement.text, types)
        self._pgconn.send_query_prepared(known.name, bound, formats)
        return known, 2

    def _results(self) -> list[pq.abc.PGresult]:
        pgconn = self._pgconn
        found: list[pq.abc.PGresult] = []
        while pgconn.flush():
            self._poll.modify(pgconn.socket, select.POLLIN | select.POLLOUT)
            self._poll.poll()
            self._poll.modify(pgconn.socket, select.POLLIN)
            pgconn.consume_input()
        while True:
            while pgconn.is_busy():
                self._poll.poll()
                pgconn.consume_input()
            result = pgconn.get_result()
            if result is None:
                continue
            if result.status == pq.ExecStatus.PIPELINE_SYNC:
                return found
            found.append(result)

    def _forget(self) -> None:
        self._known.clear()
        self.ask([(_DEALLOCATE, {})])


_DEALLOCATE = Statement(b"DEALLOCATE ALL", ())


def _text(value: Value) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return b"%d" % value if isinstance(value, int) else str(value).encode()


def _column(result: pq.abc.PGresult, at: int) -> tuple[int, str, Load]:
    name, oid = result.fname(at), result.ftype(at)
    assert name is not None
    # 0 is what every type can be read as: its text.
    loader = psycopg.adapters.get_loader(oid, pq.Format.TEXT) or psycopg.adapters.get_loader(0, pq.Format.TEXT)
    assert loader is not None
    return at, name.decode(), loader(oid).load


def _error(result: pq.abc.PGresult) -> psycopg.Error:
    code = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
    try:
        kind = psycopg.errors.lookup(code)
    except KeyError:
        # A connection that broke off has an answer without a code.
        kind = psycopg.OperationalError
    return kind(result.error_message.decode(errors="replace").strip())
