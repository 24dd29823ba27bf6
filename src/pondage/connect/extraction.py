"""Outputs of flows as streams of bytes: rows as Arrow, Parquet, JSON lines or CSV, a Value as a line, Bytes as such.

The bytes depend on the rows and their files alone, so that whoever was cut off goes on at an offset.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import msgspec
import pyarrow as pa
from pyarrow import parquet as pq

from pondage.connect.arrow_rows import arrow_schema, csv_line, json_line, rows_of
from pondage.connect.stores import store_of
from pondage.define.types.segment import ORDER, ORDERED, Segment
from pondage.define.types.type_json import spark_json
from pondage.define.types.types import TypeSyntax, parse_type
from pondage.errors import LedgerError
from pondage.ledger.act import extracts
from pondage.ledger.act.extracts import Extractable
from pondage.ledger.ledger import Ledger
from pondage.work.snapshot import SnapshotContent

BATCH_ROWS = 10_000
Piece = SnapshotContent | Segment


def extracted(
    ledger: Ledger, one: Extractable, *, offset: int = 0, wait: Callable[[], None] | None = None
) -> Iterator[bytes]:
    """Give the bytes of an extract from an offset on; at the head it waits until the output has ended.

    Raises `LedgerError` when the rest will never come or has gone, or, without `wait`, when it has not come yet.
    """
    left = offset
    with _told(one):
        for chunk in _encoded(one, _pieces(ledger, one, wait)):
            if left >= len(chunk):
                left -= len(chunk)
                continue
            yield chunk[left:]
            left = 0


def extracted_rows(ledger: Ledger, one: Extractable) -> Iterator[dict[str, Any]]:
    """Give the rows of an extract that is complete, as Python has them."""
    for piece in _pieces(ledger, one, None):
        for batch in _batches(piece):
            yield from rows_of(batch)


@contextmanager
def _told(one: Extractable) -> Iterator[None]:
    """Say what happened to the files: they may go while they are read, because their time is over or by some hand."""
    try:
        yield
    except FileNotFoundError as error:
        raise extracts.gone(one.run, one.name, one.extract, why=f"there is no file {error.filename or error}") from None
    except (pa.ArrowException, OSError) as error:
        raise LedgerError(
            f"{one.name} of flow {one.run.public_id} cannot be read: {error}",
            hint="look at the disk of the warehouse, and submit the tree again",
            code="EXTRACT_DAMAGED",
        ) from None


def _pieces(ledger: Ledger, one: Extractable, wait: Callable[[], None] | None) -> Iterator[Piece]:
    seen = 0
    while True:
        with ledger.reading() as tx:
            found = extracts.pieces(tx, one, seen=seen)
        yield from found.found
        seen += len(found.found)
        if found.is_complete:
            return
        if not found.found:
            if wait is None:
                raise LedgerError(
                    f"{one.name} of flow {one.run.public_id} has not come yet",
                    hint=f"pondage flow watch {one.run.public_id}",
                    code="EXTRACT_WAITS",
                )
            wait()


def _encoded(one: Extractable, pieces: Iterator[Piece]) -> Iterator[bytes]:
    if one.type.startswith(("Bytes", "Value")):
        end = b"\n" if one.type.startswith("Value") else b""
        for piece in pieces:
            yield from (data + end for data in _plain(piece))
        return
    writers: dict[str, Callable[[Iterator[pa.RecordBatch]], Iterator[bytes]]] = {
        "arrow": _arrow,
        "parquet": _parquet,
        "ndjson": _ndjson,
        "csv": _csv,
    }
    yield from writers[one.extract.format](_all_batches(one, pieces))


def _all_batches(one: Extractable, pieces: Iterator[Piece]) -> Iterator[pa.RecordBatch]:
    """Give the rows of a table, or of segments, with the columns of their type or, when nobody knows it, of the first.

    Segments of one type may say of a column that it is never null, or not say it: they are written as one table.
    """
    first = next(pieces, None)
    if isinstance(first, SnapshotContent):
        yield from _batches(first)
        return
    schema = _known_columns(one.rows or one.type)
    if schema is not None:
        yield pa.RecordBatch.from_pylist([], schema)
    for piece in () if first is None else chain([first], pieces):
        for batch in _batches(piece):
            schema = schema or pa.schema([field.with_nullable(True) for field in batch.schema])
            yield _fitted(batch, schema)


def _known_columns(type_: str) -> pa.Schema | None:
    try:
        return arrow_schema(msgspec.json.encode(spark_json(parse_type(type_).arguments[0])).decode())
    except (TypeSyntax, IndexError):
        return None


def _fitted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    if batch.schema.names != schema.names:
        found, wanted = ", ".join(batch.schema.names), ", ".join(schema.names)
        raise pa.ArrowInvalid(f"a piece of it has the columns {found}, and others have {wanted}")
    return batch if batch.schema == schema else batch.cast(schema)


def _plain(piece: Piece) -> Iterator[bytes]:
    """Give a Value as JSON, or Bytes: between executions they are a table of one row, or the bytes of a segment."""
    if isinstance(piece, Segment):
        yield _read(piece)
        return
    for batch in _batches(piece):
        for value in batch.column(0).to_pylist():
            yield value if isinstance(value, bytes) else str(value).encode()


def _batches(piece: Piece) -> Iterator[pa.RecordBatch]:
    """Give the rows of a piece in the order of its files; there is always one batch, so that columns are known."""
    if isinstance(piece, Segment):
        with pa.ipc.open_stream(pa.BufferReader(_read(piece))) as reader:
            hidden = [ORDER] if ORDERED in (reader.schema.metadata or {}) else []
            for batch in chain([pa.RecordBatch.from_pylist([], reader.schema)], reader):
                yield batch.drop_columns(hidden).replace_schema_metadata(None) if hidden else batch
        return
    schema = arrow_schema(piece.schema)
    yield pa.RecordBatch.from_pylist([], schema)
    for file in piece.files:
        file_system, path = store_of(file.name if "/" in file.name else f"{piece.path}/{file.name}", code="EXTRACT_FAR")
        with file_system.open_input_file(path) as source:
            for batch in pq.ParquetFile(source).iter_batches(BATCH_ROWS):
                yield pa.Table.from_batches([batch]).select(schema.names).cast(schema).combine_chunks().to_batches()[0]


def _read(segment: Segment) -> bytes:
    """Answer the bytes of a segment, which must be those that were committed."""
    file_system, path = store_of(segment.ref, code="EXTRACT_FAR")
    with file_system.open_input_stream(path) as stream:
        data: bytes = stream.read()
    if hashlib.sha256(data).hexdigest() != segment.sha256:
        raise pa.ArrowInvalid(f"{segment.ref} is not what was written")
    return data


class _Sink(io.RawIOBase):
    """Collects what a writer writes until it is fetched."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._parts.append(bytes(data))
        return len(data)

    def taken(self) -> bytes:
        found, self._parts = b"".join(self._parts), []
        return found


def _arrow(batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    return _written(batches, pa.ipc.new_stream)


def _parquet(batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    return _written(batches, pq.ParquetWriter)


def _written(batches: Iterator[pa.RecordBatch], begin: Callable[[_Sink, pa.Schema], Any]) -> Iterator[bytes]:
    """Give what a writer makes of batches, piece by piece; it begins with the first, which says the schema.

    A stream without any, of which nobody knows the columns, is a table without columns.
    """
    sink = _Sink()
    writer = None
    for batch in batches:
        writer = writer or begin(sink, batch.schema)
        if batch.num_rows:
            writer.write_batch(batch)
        yield sink.taken()
    (writer or begin(sink, pa.schema([]))).close()
    yield sink.taken()


def _ndjson(batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    for batch in batches:
        yield b"".join(json_line(row) for row in rows_of(batch))


def _csv(batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    has_header = False
    for batch in batches:
        if not has_header:
            yield csv_line(batch.schema.names)
            has_header = True
        yield b"".join(csv_line(row.values()) for row in rows_of(batch))
