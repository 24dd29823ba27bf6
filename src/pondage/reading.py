"""Reading published tables in a notebook or a script: `pondage.read("reports").pandas()`.

It works in a project, on its ledger, and from anywhere through a server. What is read is one completed Run, whole; it
is leased while it is read, and the read log says so. No worker and no JVM takes part, unless Spark is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pondage.define.values.duration import parsed_duration

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from pondage.cli.client.desk import Desk
    from pondage.operations.reading import HeldFiles

Moment: TypeAlias = "str | datetime | None"


class Table:
    """A published table. Each call reads it anew, as it is then; with `as_of` always the same past."""

    def __init__(
        self,
        table: str,
        *,
        as_of: Moment = None,
        env: str | None = None,
        project: str | Path | None = None,
        server: str | None = None,
        token: str | None = None,
    ) -> None:
        self.table = table
        self._as_of = as_of
        self._env = env
        self._project = None if project is None else Path(project)
        self._server = server or os.environ.get("PONDAGE_SERVER")
        self._token = token

    def arrow(self) -> pa.Table:
        """Answer all rows as a table of Arrow; raises `PondageError` when there is no such table."""
        from pondage.embedded.streams import reader_of
        from pondage.operations import reading

        with self._desk() as opened:
            given = opened.ask(reading.table_rows, table=self.table, as_of=self._moment(opened))
            return reader_of(given).read_all()

    def pandas(self) -> pd.DataFrame:
        """Answer all rows as a DataFrame of pandas."""
        return self.arrow().to_pandas()

    def duckdb(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        """Answer all rows as a relation of a connection to DuckDB, which may do with them what it likes."""
        return connection.from_arrow(self.arrow())

    def spark(self, session: SparkSession, *, hold: str = "1h") -> DataFrame:
        """Answer the table as a DataFrame of a session, which reads the files itself: they stay for `hold`."""
        from pyspark.sql.types import StructType

        held = self._held(hold)
        schema = StructType.fromJson(_decoded(held.schema))
        if not held.files:
            return session.createDataFrame([], schema)
        return session.read.schema(schema).parquet(*held.files)

    def files(self, *, hold: str = "1h") -> list[str]:
        """Answer the table's files, which are not deleted for `hold`, whatever becomes of this process."""
        return list(self._held(hold).files)

    def _held(self, hold: str) -> HeldFiles:
        from pondage.operations import reading

        seconds = max(1, parsed_duration(hold) // 1_000_000)
        with self._desk() as opened:
            return opened.ask(
                reading.table_files, table=self.table, as_of=self._moment(opened), seconds=seconds, note=""
            )

    @contextmanager
    def _desk(self) -> Iterator[Desk]:
        from pondage.cli.client.desk import desk
        from pondage.cli.client.settings import Settings

        settings = Settings()
        settings.project, settings.environment = self._project, self._env
        settings.server, settings.token = self._server, self._token
        with desk(settings) as opened:
            yield opened

    def _moment(self, opened: Desk) -> int | str | None:
        from pondage.cli.ask.moment import as_of

        if isinstance(self._as_of, datetime):
            return int(self._as_of.timestamp() * 1_000_000)
        return None if self._as_of is None else as_of(opened, self._as_of)


def _decoded(schema: str) -> dict[str, object]:
    import json

    found: dict[str, object] = json.loads(schema)
    return found


def read(
    table: str,
    *,
    as_of: Moment = None,
    env: str | None = None,
    project: str | Path | None = None,
    server: str | None = None,
    token: str | None = None,
) -> Table:
    """Answer a handle to a published table: a Pond (`reports`, `reports@1`) or a Ripple of it (`reports.clean`).

    `as_of` reads the past: `"2h"`, `"2026-05-04T06:00"`, a datetime, or a Run (`"reports#12"`). The project is the one
    of the current directory; with `server` (or PONDAGE_SERVER) a server is asked. Nothing is read yet.
    """
    return Table(table, as_of=as_of, env=env, project=project, server=server, token=token)
