"""Segments of streams as files: Arrow IPC for rows, JSON for a value, bytes as they are.

A segment is the unit of order, so its rows are written in an order that does not depend on how Spark computed them: by
`_seq` when they have it, else by their values. The same rows then have the same bytes, and a replay is recognised. Of a
stream that is `ordered: true` they always have it; only readers that want it ordered, too, see that column.
"""

from __future__ import annotations

import hashlib
import io
import os
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_schema

from pondage.define.types.segment import ORDER, ORDERED, Segment
from pondage.errors import PondageError
from pondage.spark.files.read import read_snapshot
from pondage.spark.files.storage import local_path, resolved
from pondage.spark.types.values import is_plain, plain_value
from pondage.work.snapshot import SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class DecodeError(PondageError):
    """A segment is not what its type says; a stream with such a thing in it cannot be trusted."""

    code = "DECODE_ERROR"


def packed(table: pa.Table, *, in_order: bool = False) -> tuple[bytes, int]:
    """Answer a table as one Arrow IPC stream, its rows in their order; with `in_order` numbered."""
    ordered = (_numbered(table) if in_order else _ordered(table)).combine_chunks()
    return ipc_bytes(ordered), ordered.num_rows


def ipc_bytes(table: pa.Table) -> bytes:
    """Answer a table as one Arrow IPC stream, as it is."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def unpacked(data: bytes, *, in_order: bool = False) -> pa.Table:
    """Read an Arrow IPC stream; raises `DecodeError` for anything else. Only `in_order` are its rows numbered."""
    try:
        with pa.ipc.open_stream(pa.BufferReader(data)) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DecodeError(f"this is no Arrow IPC stream: {error}") from None
    return table if in_order or not _is_numbered(table.schema) else _unnumbered(table)


def without_numbers(data: bytes) -> bytes:
    """Answer the bytes of a segment for a reader that asks for no order; what is no Arrow IPC stream stays as it is."""
    try:
        with pa.ipc.open_stream(pa.BufferReader(data)) as reader:
            if not _is_numbered(reader.schema):
                return data
            table = _unnumbered(reader.read_all())
    except (pa.ArrowException, OSError, ValueError):
        return data
    return ipc_bytes(table)


def value_in(data: bytes) -> object:
    """Answer a value that travels as JSON."""
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise DecodeError(f"this is no JSON: {error}") from None


def written(place: str, seq: int, data: bytes, rows: int) -> Segment:
    """Write a segment to its own file, whole or not at all, and answer what the ledger keeps of it."""
    ref = f"{place}/{seq}"
    local = local_path(ref)
    if local is None:
        file_system, path = resolved(ref)
        with file_system.open_output_stream(path) as stream:
            stream.write(data)
    else:
        local.parent.mkdir(parents=True, exist_ok=True)
        with local.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    return Segment(ref=ref, rows=rows, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def read_bytes(segment: Segment) -> bytes:
    """Answer the bytes of a segment; raises `DecodeError` when they are not those that were written."""
    file_system, path = resolved(segment.ref)
    try:
        with file_system.open_input_stream(path) as stream:
            data: bytes = stream.read()
    except OSError as error:
        raise DecodeError(f"a segment cannot be read: {error}", place=segment.ref) from None
    if hashlib.sha256(data).hexdigest() != segment.sha256:
        raise DecodeError("a segment is not what was written", place=segment.ref)
    return data


def frame_in(session: SparkSession, segment: Segment, *, in_order: bool = False) -> DataFrame:
    """Answer the rows of a segment as a DataFrame; with `in_order` in one partition, sorted by their numbers."""
    table = unpacked(read_bytes(segment), in_order=in_order)
    # Said, because Spark's own choice is that a moment without a time zone is one of the session's.
    frame = session.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=True))
    return frame.coalesce(1).sortWithinPartitions(ORDER) if in_order else frame


def table_bytes(session: SparkSession, content: SnapshotContent, type_: str) -> bytes:
    """Answer a table that a component wrote as the bytes of one segment."""
    frame = read_snapshot(session, content)
    if not is_plain(type_):
        return packed(frame.toArrow())[0]
    value = plain_value("a program", type_, frame)
    return value if isinstance(value, bytes) else msgspec.json.encode(value)


def _ordered(table: pa.Table) -> pa.Table:
    if ORDER in table.column_names:
        return table.sort_by(ORDER)
    keys = [(field.name, "ascending") for field in table.schema if _is_sortable(field.type)]
    return table.take(pc.sort_indices(table, sort_keys=keys)) if keys and table.num_rows > 1 else table


def _numbered(table: pa.Table) -> pa.Table:
    """Answer rows by their numbers in `_seq`; those that have none are numbered as they come."""
    if ORDER not in table.column_names:
        numbers = pa.array(range(table.num_rows), pa.int64())
        table = table.append_column(pa.field(ORDER, pa.int64(), nullable=False), numbers)
    column = table.column(ORDER)
    is_whole = pa.types.is_integer(column.type) and not column.null_count
    if not is_whole or pc.count_distinct(column).as_py() != table.num_rows:
        raise DecodeError(
            f"a stream that is `ordered: true` needs a whole number of its own for every row in {ORDER}",
            hint=f"number the rows, or leave {ORDER} out: then they are numbered as they come (orderBy)",
        )
    return table.sort_by(ORDER).replace_schema_metadata({ORDERED: b"true"})


def _unnumbered(table: pa.Table) -> pa.Table:
    return table.drop_columns([ORDER]).replace_schema_metadata(None)


def _is_numbered(schema: pa.Schema) -> bool:
    return ORDERED in (schema.metadata or {}) and ORDER in schema.names


def _is_sortable(type_: pa.DataType) -> bool:
    kinds = (pa.types.is_primitive, pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    return any(is_kind(type_) for is_kind in (*kinds, pa.types.is_decimal))
