"""One question in this process: a connection of its own, fenced, limited and thrown away afterwards."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pondage.embedded import fence, views
from pondage.embedded.question import MEBIBYTE, Limits, Question, QuestionRefused
from pondage.errors import PondageError

if TYPE_CHECKING:
    import duckdb

BATCH_ROWS = 16_384


class Answer:
    """The rows of a question, as they come, and the tables that it reads; at the end whether there `is_cut` any off."""

    def __init__(self, reader: pa.RecordBatchReader, limits: Limits, examined: fence.Examined) -> None:
        self.schema: pa.Schema = reader.schema
        self.tables = examined.tables
        self.parameters = examined.parameters
        self.is_cut = False
        self._reader = reader
        self._limits = limits

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        rows, size = self._limits.rows, self._limits.size
        for batch in self._reader:
            if rows is not None and batch.num_rows > rows:
                self._cut()
                batch = batch.slice(0, rows)
            if size is not None and batch.nbytes > size:
                self._cut()
                batch = batch.slice(0, batch.num_rows * size // batch.nbytes)
            if batch.num_rows:
                yield batch
            if self.is_cut:
                return
            rows = None if rows is None else rows - batch.num_rows
            size = None if size is None else size - batch.nbytes

    def _cut(self) -> None:
        self.is_cut = True
        if self._limits.when_full == "refuse":
            raise QuestionRefused(
                "the answer is larger than a question may give", hint="ask for less: LIMIT, or fewer columns",
                code="ANSWER_TOO_LARGE",
            )  # fmt: skip


@contextmanager
def answered(question: Question) -> Iterator[Answer]:
    """Answer a question while the block runs; raises `PondageError` with a code, whatever the text tried."""
    module = _duckdb()
    limits = question.limits
    scratch = Path(limits.scratch)
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="q", dir=scratch) as spill, _translated(module, limits):
        connection = module.connect(":memory:", config=_config(limits, spill))
        timer = threading.Timer(limits.seconds, connection.interrupt)
        timer.daemon = True
        try:
            timer.start()
            prepared = _fenced(connection, question)
            yield Answer(_run(connection, question, prepared), limits, prepared)
        finally:
            timer.cancel()
            # Whoever stops reading leaves a question that still runs: it must end before its files may go.
            with suppress(Exception):
                connection.interrupt()
            connection.close()


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise PondageError(
            "the embedded engine is not installed", hint="pip install 'pondage[sql]'", code="MISSING_EXTRA"
        ) from None
    return duckdb


def _config(limits: Limits, spill: str) -> dict[str, str]:
    return {
        "memory_limit": f"{limits.memory // MEBIBYTE}MiB",
        "max_temp_directory_size": f"{limits.spill // MEBIBYTE}MiB",
        "temp_directory": spill,
        "home_directory": spill,
        "extension_directory": f"{spill}/extensions",
        "secret_directory": f"{spill}/secrets",
        "threads": str(limits.threads),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "allow_unsigned_extensions": "false",
        "python_enable_replacements": "false",
        "allow_persistent_secrets": "false",
        "preserve_insertion_order": "true",
    }


def _fenced(connection: duckdb.DuckDBPyConnection, question: Question) -> fence.Examined:
    """Make the views that the question reads, close everything else, and answer what may be run."""
    connection.execute("SET TimeZone='UTC'")
    connection.execute(f"CREATE SCHEMA {fence.SCHEMA}")
    connection.execute(f"USE memory.{fence.SCHEMA}")
    tables = {table.name: table for table in question.tables}
    read = fence.examined(connection, question.sql, catalog=question.catalog, names=tables)
    files = sorted({file for name in read.tables for file in views.local_files(tables[name])})
    listed = ", ".join(views.literal(each) for file in files for each in dict.fromkeys((file, views.escaped(file))))
    connection.execute(f"SET allowed_paths=[{listed}]")
    for name in sorted(read.tables):
        views.create(connection, tables[name], where=fence.SCHEMA)
    connection.execute("SET enable_external_access=false")
    connection.execute("SET lock_configuration=true")
    return read


def _run(connection: duckdb.DuckDBPyConnection, question: Question, examined: fence.Examined) -> pa.RecordBatchReader:
    # The parser has seen exactly one SELECT; it is the same parser that runs it.
    values = list(question.parameters)
    if question.is_described:
        values = [None] * examined.parameters
    elif len(values) != examined.parameters:
        raise QuestionRefused(
            f"it wants {examined.parameters} values, and {len(values)} were bound", hint="bind them all", code="BAD_SQL"
        )
    found = connection.sql(examined.sql, params=values or None)
    found = found.limit(0) if question.is_described else found
    reader: pa.RecordBatchReader = found.to_arrow_reader(BATCH_ROWS)
    return reader


@contextmanager
def _translated(module: Any, limits: Limits) -> Iterator[None]:
    """Raise what the engine raises as errors with a code."""
    try:
        yield
    except module.Error as error:
        raise _problem(module, error, limits) from error
    except pa.ArrowException as error:
        # What fails while rows are fetched comes through Arrow, as a text.
        raise _said(str(error), limits) from error


def _problem(module: Any, error: Exception, limits: Limits) -> PondageError:
    message = str(error).partition("\n")[0]
    kinds = (
        ("PermissionException", "QUERY_REFUSED", "name a table; files, addresses and settings are out of reach"),
        ("ParserException", "BAD_SQL", "write one SELECT in DuckDB's SQL"),
        ("BinderException", "BAD_SQL", "pondage show POND"),
        ("CatalogException", "BAD_SQL", "pondage show POND"),
        ("ConversionException", "BAD_VALUE", "TRY_CAST answers null where a value does not fit"),
        ("OutOfRangeException", "BAD_VALUE", "cast to a wider type"),
        ("InvalidInputException", "BAD_SQL", "pondage show POND"),
        ("NotImplementedException", "BAD_SQL", "write it without"),
    )
    if isinstance(error, module.InterruptException):
        return _too_long(limits)
    if isinstance(error, module.OutOfMemoryException):
        return _too_large(limits)
    for name, code, hint in kinds:
        if isinstance(error, getattr(module, name)):
            return QuestionRefused(message, hint=hint, code=code)
    return _said(message, limits)


def _said(message: str, limits: Limits) -> PondageError:
    message = message.partition("\n")[0]
    if "INTERRUPT" in message.upper():
        return _too_long(limits)
    if "OUT OF MEMORY" in message.upper() or "max_temp_directory_size" in message:
        return _too_large(limits)
    if "No files found" in message or "Cannot open file" in message:
        return QuestionRefused(
            "its files are gone", hint="which, and what makes them anew: pondage restore --check", code="FILES_GONE"
        )
    return QuestionRefused(message, hint="ask a worker: --engine spark", code="QUERY_FAILED")


def _too_long(limits: Limits) -> PondageError:
    return QuestionRefused(
        f"the question ran longer than {limits.seconds:g} s, and was ended",
        hint="ask for less, or give it more time: [questions] timeout_s in pondage.toml",
        code="TIMEOUT",
    )


def _too_large(limits: Limits) -> PondageError:
    return QuestionRefused(
        f"the question needs more than its {limits.memory // MEBIBYTE:,} MiB of memory",
        hint="ask for less, or give it more: [questions] memory in pondage.toml",
        code="QUERY_TOO_LARGE",
    )
