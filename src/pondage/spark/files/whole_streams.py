"""A stream that has ended as one table: Spark's workers read the segments, the driver sees none of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from pondage.define.types.segment import ORDER, ORDERED, Segment
from pondage.define.types.type_json import spark_json
from pondage.define.types.types import TypeSyntax, parse_type
from pondage.spark.files.segments import DecodeError, read_bytes, value_in
from pondage.spark.files.storage import readable_path, resolved

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator[pa.RecordBatch]


def whole_stream(session: SparkSession, segments: Sequence[Segment], type_: str, *, rows: str = "") -> object:
    """Answer a stream that has ended as one value of the type that its reader declared.

    `rows` is what the planner knows of its rows: a stream without any segment has no other columns. No Spark job runs.
    """
    if type_.startswith("Bytes"):
        return b"".join(map(read_bytes, segments))
    if type_.startswith("Value"):
        values = [value_in(read_bytes(one)) for one in segments]
        return values[0] if len(values) == 1 else values
    known = _known_rows(rows)
    if segments:
        return _read(session, segments, known or _found_rows(segments))
    known = known or _known_rows(type_)
    if known is None:
        raise DecodeError(f"a stream of {rows or type_} without any segment has no columns that are known")
    return session.createDataFrame([], known)


def _known_rows(type_: str) -> StructType | None:
    try:
        return StructType.fromJson(spark_json(parse_type(type_).arguments[0]))  # type: ignore[arg-type]
    except (TypeSyntax, IndexError, TypeError):
        return None


def _found_rows(segments: Sequence[Segment]) -> StructType:
    """Answer the columns of all segments together, by the heads of their files."""
    schemas = []
    for one in segments:
        file_system, path = resolved(one.ref)
        try:
            with file_system.open_input_stream(path) as stream, pa.ipc.open_stream(stream) as reader:
                is_numbered = ORDERED in (reader.schema.metadata or {})
                schemas.append(
                    reader.schema.remove(reader.schema.get_field_index(ORDER)) if is_numbered else reader.schema
                )
        except (pa.ArrowException, OSError) as error:
            raise DecodeError(f"a segment cannot be read: {error}", place=one.ref) from None
    try:
        found = pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException as error:
        raise DecodeError(f"segments of one stream do not fit together: {error}") from None
    return _nullable(from_arrow_schema(found, prefer_timestamp_ntz=True))


def _nullable(given: StructType) -> StructType:
    """Answer columns that may be null: what one segment does not have is null in the table."""
    for field in given.fields:
        field.nullable = True
    return given


def _read(session: SparkSession, segments: Sequence[Segment], wanted: StructType) -> DataFrame:
    try:
        files = session.read.format("binaryFile").load([readable_path(one.ref) for one in segments])
    except AnalysisException as error:
        raise DecodeError(f"a segment cannot be read: {str(error).partition(chr(10))[0]}") from None
    digests = {_key(one.ref): one.sha256 for one in segments}
    decode = _decoder(to_arrow_schema(wanted, timezone="UTC"), digests)
    return files.select("path", "content").mapInArrow(decode, wanted)


def _key(place: str) -> tuple[str, ...]:
    """Answer what of a place is its own, however a file system writes the rest of it: the attempt and the number."""
    return tuple(place.rsplit("/", 2)[-2:])


def _decoder(wanted: pa.Schema, digests: dict[tuple[str, ...], str]) -> Callable[[Batches], Batches]:
    """Answer what turns files into rows. It travels to Spark's workers as a value, which need nothing of ours."""
    order = ORDER

    def decode(batches: Batches) -> Batches:
        import hashlib

        import pyarrow as pa

        for batch in batches:
            for path, content in zip(batch.column("path").to_pylist(), batch.column("content"), strict=True):
                data = content.as_buffer()
                if hashlib.sha256(data).hexdigest() != digests[tuple(path.rsplit("/", 2)[-2:])]:
                    raise ValueError(f"DECODE_ERROR: a segment is not what was written: {path}")
                with pa.ipc.open_stream(data) as reader:
                    table = reader.read_all()
                yield from fitted(table, path).combine_chunks().to_batches()

    def fitted(table: pa.Table, path: str) -> pa.Table:
        import pyarrow as pa

        got = [name for name in table.column_names if name != order or order in wanted.names]
        missing = [field for field in wanted if field.name not in got]
        if set(got) - set(wanted.names) or any(not field.nullable for field in missing):
            raise ValueError(f"DECODE_ERROR: a segment has {', '.join(got)}, wanted {', '.join(wanted.names)}: {path}")
        for field in missing:
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
        try:
            return table.select(wanted.names).cast(wanted)
        except (pa.ArrowException, ValueError) as error:
            raise ValueError(f"DECODE_ERROR: a segment is not of its type: {error}: {path}") from None

    return decode
