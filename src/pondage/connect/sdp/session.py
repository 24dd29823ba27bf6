"""The `spark` that a pipeline's files see: the real session, but its tables are what a Run gives it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from pondage.connect.sdp.streams import StreamReader
from pondage.errors import PondageError
from pondage.spark.query.sql_names import ParsedSql, TableName, bound_sql

if TYPE_CHECKING:
    from pondage.connect.sdp.registry import Declared

Resolve = Callable[[str, bool], DataFrame | None]
"""From the name of a table, and whether it is read as a stream, to its rows; None for a table of somebody else."""


Files = Callable[[str, Any, str], DataFrame]
"""From a name, a batch reader and a path to the rows of files that are new."""


class _Bound(threading.local):
    """What the calling thread's attempt works with: attempts of one worker run side by side."""

    session: SparkSession | None = None
    resolve: Resolve | None = None
    files: Files | None = None


class _Active(threading.local):
    """What `SparkSession.active()` answers in the calling thread, when it is one of ours."""

    session: PipelineSession | None = None


_active = _Active()


class PipelineSession:
    """Stands for a SparkSession. Everything but tables and SQL goes to the real one of the calling thread."""

    def __init__(self, session: SparkSession) -> None:
        self._first = session
        self._bound = _Bound()
        self.datasets: Mapping[str, Declared] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    @property
    def real(self) -> SparkSession:
        """Answer the session that does the work."""
        return self._bound.session or self._first

    @contextmanager
    def bound(self, session: SparkSession, resolve: Resolve, files: Files) -> Iterator[None]:
        """Let this thread's calls use a session, these tables and these new files."""
        before = self._bound.session, self._bound.resolve, self._bound.files
        self._bound.session, self._bound.resolve, self._bound.files = session, resolve, files
        try:
            with self.as_active():
                yield
        finally:
            self._bound.session, self._bound.resolve, self._bound.files = before

    @contextmanager
    def as_active(self) -> Iterator[None]:
        """Let `SparkSession.active()` answer this one in this thread, too: that is how many files get it."""
        _watch_active()
        before, _active.session = _active.session, self
        try:
            yield
        finally:
            _active.session = before

    def table(self, name: str) -> DataFrame:
        """Answer a dataset of the pipeline, or somebody else's table."""
        return self._table(name, is_stream=False)

    @property
    def read(self) -> Any:
        """Answer a reader whose `table` knows the datasets."""
        return _Reader(self.real.read, self.table)

    @property
    def readStream(self) -> Any:  # noqa: N802 - Spark's name
        """Answer a reader that gives what is new, in a dataset or in a directory."""
        return StreamReader(self, lambda name: self._table(name, is_stream=True))

    def new_files(self, key: str, reader: Any, path: str) -> DataFrame:
        """Answer the rows of files that are new to the Run."""
        if self._bound.files is None:
            raise _too_early(path)
        return self._bound.files(key, reader, path)

    def sql(self, text: str, *args: Any, **named: Any) -> DataFrame:
        """Run SQL in which the datasets are tables; `STREAM x` is what is new in x."""
        plain, streamed = _without_streams(text)
        parsed = ParsedSql(self.real, plain)
        frames = {}
        for table in parsed.tables:
            if table.text.casefold() in parsed.common_tables:
                continue
            found = self._resolved(table.text, is_stream=_is_streamed(table, streamed))
            if found is not None:
                frames[table.text] = found
        bound, _ = bound_sql(parsed, frames)
        return self.real.sql(bound, *args, **named)

    def parsed(self, text: str) -> Any:
        """Answer Spark's parsed plan of a statement."""
        return self.real._jsparkSession.sessionState().sqlParser().parsePlan(text)

    def _table(self, name: str, *, is_stream: bool) -> DataFrame:
        found = self._resolved(name, is_stream=is_stream)
        return self.real.table(name) if found is None else found

    def _resolved(self, name: str, *, is_stream: bool) -> DataFrame | None:
        if self._bound.resolve is None:
            raise _too_early(name)
        return self._bound.resolve(name, is_stream)


def _too_early(what: str) -> PondageError:
    return PondageError(
        f"{what!r} is read while the pipeline's files are loaded",
        hint="read data inside the functions of the flows",
        code="BAD_PIPELINE",
    )


def _watch_active() -> None:
    """Ask our own thread-local first, from now on. Done once for a process."""
    for name in ("active", "getActiveSession"):
        real = getattr(SparkSession, name)
        if not hasattr(real, "is_pondage"):

            def answer(real: Callable[[], Any] = real) -> Any:
                return _active.session or real()

            vars(answer)["is_pondage"] = True
            setattr(SparkSession, name, staticmethod(answer))


class _Reader:
    """A reader of Spark with another `table`. Settings that are chained keep it."""

    def __init__(self, reader: Any, table: Callable[[str], DataFrame]) -> None:
        self._reader = reader
        self.table = table

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._reader, name)
        if not callable(found):
            return found

        def call(*args: Any, **named: Any) -> Any:
            result = found(*args, **named)
            return _Reader(result, self.table) if result is self._reader else result

        return call


def _without_streams(text: str) -> tuple[str, frozenset[int]]:
    """Answer the text with blanks for every `STREAM`, and where the names behind them begin."""
    from sqlglot.dialects.spark import Spark

    tokens = Spark().tokenize(text)
    found = set()
    for at, token in enumerate(tokens[:-1]):
        before = tokens[at - 1].text.upper() if at else ""
        if token.text.upper() != "STREAM" or before not in ("FROM", "JOIN", ","):
            continue
        text = f"{text[: token.start]}{' ' * (token.end + 1 - token.start)}{text[token.end + 1 :]}"
        after = tokens[at + 1]
        if after.text == "(":
            closing = next(each for each in tokens[at:] if each.text == ")")
            text = f"{text[: after.start]} {text[after.start + 1 : closing.start]} {text[closing.start + 1 :]}"
            after = tokens[at + 2]
        found.add(after.start)
    return text, frozenset(found)


def _is_streamed(table: TableName, starts: frozenset[int]) -> bool:
    return table.start in starts
