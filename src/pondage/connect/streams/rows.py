"""A database table as a stream: rows in the order of a key that only grows. PostgreSQL and SQLite."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pondage.connect.tables import needed
from pondage.define.values.duration import parsed_duration
from pondage.define.values.place import place_of_caller
from pondage.errors import DefinitionError

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg.rows import DictRow

ANSWER_S = 30.0
"""A database that does not answer for so long is lost."""
AT_ONCE = 1000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*\Z")
_COMMITTED = """age(xmin) > age((pg_snapshot_xmin(pg_current_snapshot())::text::numeric %% 4294967296)::text::xid)"""
"""Written by a transaction that is older than every open one: no smaller key can still be committed behind it."""


class Rows:
    """Asks a table for rows behind the last key, `every` so often; an event is a row as a dict.

    `key` is a column of whole numbers that only grows (an identity, a sequence). On PostgreSQL a row waits until every
    transaction that was open when it was written has ended, so that none is passed over. `url` is
    `postgresql://...` or `sqlite:///path`, or a function that gives one, for passwords that are not in the code.
    """

    says_connected = True

    def __init__(self, url: str | Callable[[], str], *, table: str, key: str = "id", every: str = "1s") -> None:
        place = place_of_caller()
        for name in (table, key):
            if not _NAME.match(name):
                raise DefinitionError(f"{name!r} is no plain name of a table or column", place=place, code="BAD_NAME")
        self.url = url
        self.table = table
        self.key = key
        self.every_us = parsed_duration(every, what="every", place=place)

    async def read(self, after: int | None) -> AsyncIterator[tuple[int, object] | None]:
        """Answer rows behind a key for ever; raises OSError when the database is gone."""
        last = -(1 << 63) if after is None else after
        url = self.url() if callable(self.url) else self.url
        table = _Postgres(url, self) if url.startswith("postgres") else _Sqlite(url, self)
        try:
            while True:
                async with asyncio.timeout(ANSWER_S):
                    found = await table.behind(last)
                yield None
                for row in found:
                    last = msgspec.convert(row[self.key], int)
                    yield last, row
                if len(found) < AT_ONCE:
                    await asyncio.sleep(self.every_us / 1e6)
        finally:
            await table.close()


class _Sqlite:
    """A table of a SQLite file; it is opened for each look, so that a file which was replaced is seen."""

    def __init__(self, url: str, rows: Rows) -> None:
        self._file = Path(url.removeprefix("sqlite://")).absolute().as_uri()
        self._query = _query(rows, "?")

    async def behind(self, last: int) -> list[dict[str, object]]:
        return await asyncio.to_thread(self._look, last)

    async def close(self) -> None:
        """Hold nothing open."""

    def _look(self, last: int) -> list[dict[str, object]]:
        try:
            with closing(sqlite3.connect(f"{self._file}?mode=ro", uri=True, timeout=5)) as connection:
                connection.row_factory = sqlite3.Row
                return [dict(row) for row in connection.execute(self._query, (last,))]
        except sqlite3.Error as error:
            raise ConnectionError(f"{self._file}: {error}") from error


class _Postgres:
    """A table of a PostgreSQL server, over one connection."""

    def __init__(self, url: str, rows: Rows) -> None:
        needed("psycopg", "postgres")
        self._url = url
        self._query = _query(rows, "%s", f"AND {_COMMITTED} ").encode()
        self._connection: AsyncConnection[DictRow] | None = None

    async def behind(self, last: int) -> list[dict[str, object]]:
        import psycopg
        from psycopg.rows import dict_row

        try:
            if self._connection is None:
                self._connection = await psycopg.AsyncConnection.connect(
                    self._url, autocommit=True, row_factory=dict_row
                )
            return list(await (await self._connection.execute(self._query, (last,))).fetchall())
        except psycopg.Error as error:
            raise ConnectionError(str(error)) from error

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()


def _query(rows: Rows, mark: str, more: str = "") -> str:
    table, key = (".".join(f'"{part}"' for part in name.split(".")) for name in (rows.table, rows.key))
    return f"SELECT * FROM {table} WHERE {key} > {mark} {more}ORDER BY {key} LIMIT {AT_ONCE}"  # noqa: S608 - plain names, checked
