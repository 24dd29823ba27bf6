"""What the footers of written parquet files say: rows, bytes, nulls, smallest and largest values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from decimal import Decimal

import msgspec
import pyarrow as pa
from pyarrow import fs
from pyarrow import parquet as pq

from pondage.define.pond.definition import Scalar
from pondage.define.pond.partition import Partition
from pondage.spark.files.storage import data_files
from pondage.work.snapshot import ColumnStatistics, DataFile

Value = str | int | float | bool | Decimal | date | datetime | bytes
LONGEST_TEXT = 64
_MOST_COLUMNS = 256
_READERS = 8


class ColumnFooter(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one column, in Python's own types; None is unknown. `is_bounded`: minimum and maximum hold
    for every value that is not null (they are None together when there is none).
    """

    nulls: int | None = None
    minimum: Value | None = None
    maximum: Value | None = None
    is_bounded: bool = False


class Footer(msgspec.Struct, frozen=True, kw_only=True):
    """The footer of one file. Only columns that are not nested have statistics."""

    name: str
    rows: int
    bytes: int
    columns: dict[str, ColumnFooter]
    partition: Partition | None = None

    def as_data_file(self) -> DataFile:
        """Answer what is stored of it: values that JSON knows, long texts cut, at most 256 columns."""
        kept = list(self.columns.items())[:_MOST_COLUMNS]
        return DataFile(
            name=self.name,
            rows=self.rows,
            bytes=self.bytes,
            partition=self.partition,
            columns={
                name: ColumnStatistics(
                    nulls=each.nulls,
                    minimum=stored_value(each.minimum, is_upper=False),
                    maximum=stored_value(each.maximum, is_upper=True),
                )
                for name, each in kept
            },
        )


def read_footers(place: str) -> list[Footer]:
    """Answer the footer of every file in a directory that one execution has just written, by name.

    Files without rows are left out: Spark writes one for an empty result, and nobody needs to open it again.
    """
    file_system, directory, found = data_files(place)
    if len(found) == 1:
        footers = [_footer(file_system, directory, *found[0])]
    else:
        with ThreadPoolExecutor(max_workers=_READERS) as readers:
            footers = list(readers.map(lambda each: _footer(file_system, directory, *each), found))
    return [footer for footer in footers if footer.rows > 0]


def merged(footers: list[Footer], column: str) -> ColumnFooter:
    """Answer one column over all files. What one file does not know is unknown of the whole."""
    return _merged([footer.columns.get(column, ColumnFooter()) for footer in footers])


def stored_value(value: Value | None, *, is_upper: bool) -> Scalar:
    """Answer a bound in a form that JSON knows. A long text is cut to a text that is still a bound of it."""
    if value is None or isinstance(value, bytes):
        return None
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return _text_above(value[:LONGEST_TEXT]) if is_upper else value[:LONGEST_TEXT]
    return value


def _footer(file_system: fs.FileSystem, directory: str, name: str, size: int) -> Footer:
    metadata = pq.read_metadata(f"{directory}/{name}", filesystem=file_system)
    leaves = list(_flat_columns(metadata.schema.to_arrow_schema()))
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    columns = {
        column: _merged([_column_footer(group.column(leaf)) for group in groups if group.num_rows])
        for column, leaf in leaves
    }
    return Footer(name=name, rows=metadata.num_rows, bytes=size, columns=columns)


def _flat_columns(schema: pa.Schema) -> Iterator[tuple[str, int]]:
    """Answer each column that is not nested, with the number of its leaf.

    Leaves are counted rather than looked up: the leaf `a.b` may be a field b of a struct a, or a column named `a.b`.
    """
    leaf = 0
    for field in schema:
        count = _leaves(field.type)
        if not pa.types.is_nested(field.type):
            yield field.name, leaf
        leaf += count


def _leaves(type_: pa.DataType) -> int:
    if pa.types.is_nested(type_):
        return sum(_leaves(type_.field(number).type) for number in range(type_.num_fields))
    return 1


def _column_footer(chunk: pq.ColumnChunkMetaData) -> ColumnFooter:
    if not chunk.is_stats_set:
        return ColumnFooter()
    statistics = chunk.statistics
    nulls = statistics.null_count if statistics.has_null_count else None
    if nulls is not None and nulls == chunk.num_values:
        return ColumnFooter(nulls=nulls, is_bounded=True)
    if not statistics.has_min_max:
        return ColumnFooter(nulls=nulls)
    try:
        minimum, maximum = statistics.min, statistics.max
    except (UnicodeDecodeError, NotImplementedError, ValueError, OverflowError):
        return ColumnFooter(nulls=nulls)  # a date outside of Python's years, or a text cut inside a character
    return ColumnFooter(nulls=nulls, minimum=minimum, maximum=maximum, is_bounded=True)


def _merged(parts: list[ColumnFooter]) -> ColumnFooter:
    counts = [part.nulls for part in parts]
    nulls = None if None in counts else sum(count for count in counts if count is not None)
    if not all(part.is_bounded for part in parts):
        return ColumnFooter(nulls=nulls)
    smallest = [part.minimum for part in parts if part.minimum is not None]
    largest = [part.maximum for part in parts if part.maximum is not None]
    if not smallest:
        return ColumnFooter(nulls=nulls, is_bounded=True)
    # All parts are of one column, so of one type; only the type checker cannot know it.
    least, most = min(smallest), max(largest)
    return ColumnFooter(nulls=nulls, minimum=least, maximum=most, is_bounded=True)


def _text_above(prefix: str) -> str | None:
    """Answer the smallest text of that length which is above every text that starts with `prefix`."""
    for end in range(len(prefix) - 1, -1, -1):
        successor = ord(prefix[end]) + 1
        if successor <= 0x10FFFF and not 0xD800 <= successor <= 0xDFFF:
            return prefix[:end] + chr(successor)
    return None
