"""Reading what changed, and writing many small files again as few."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import BooleanType, StructField, StructType

from pondage.define.pond.partition import parsed
from pondage.errors import PondageError
from pondage.spark.files.layout import Layout
from pondage.spark.files.read import read_snapshot
from pondage.spark.files.write import write_files
from pondage.spark.types.names import quoted
from pondage.work.snapshot import BAD, Changes, SetAside, SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DELETED = "_deleted"
"""The column that marks a deleted row among the changed ones."""
CHANGE = "_change"
"""The column that says of a changed row whether it came (1) or went (-1)."""
FILE_BYTES = 128 * 1024 * 1024
_BATCH = "_pondage_batch"


def with_deletions(schema: str) -> str:
    """Answer the schema of changed rows: that of the table, and the mark of a deletion."""
    fields = StructType.fromJson(json.loads(schema)).fields
    return str(StructType([*fields, StructField(DELETED, BooleanType())]).json())


def read_changes(session: SparkSession, changes: Changes, *, columns: Sequence[str] | None = None) -> DataFrame:
    """Answer the rows of the batches as one table; no Spark job is run.

    Of a merge these are the changed rows, marked in `_deleted`: for each key only its last change. Of a table that is
    kept up to date those that came and those that went, told apart by `_change`.
    """
    if changes.is_signed:
        came, went = rows_that_came(session, changes, columns), rows_that_went(session, changes, columns)
        return came.withColumn(CHANGE, F.lit(1)).unionByName(went.withColumn(CHANGE, F.lit(-1)))
    if not changes.keys:
        return read_snapshot(session, _together(changes.batches, changes.schema), columns=columns)
    wanted = None if columns is None else list(dict.fromkeys([*columns, *changes.keys, DELETED]))
    schema = with_deletions(changes.schema)
    if len(changes.batches) <= 1:
        return _marked(read_snapshot(session, _together(changes.batches, schema), columns=wanted))
    parts = [
        read_snapshot(session, _together([batch], schema), columns=wanted).withColumn(_BATCH, F.lit(number))
        for number, batch in enumerate(changes.batches)
    ]
    names = [name for name in parts[0].columns if name != _BATCH]
    last = F.max_by(F.struct(*(F.col(quoted(name)) for name in names)), F.col(_BATCH)).alias("_pondage_last")
    rows = reduce(lambda one, other: one.unionByName(other), parts)
    return _marked(rows.groupBy(*(F.col(quoted(key)) for key in changes.keys)).agg(last).select("_pondage_last.*"))


def read_all(session: SparkSession, content: SnapshotContent, *, columns: Sequence[str] | None = None) -> DataFrame:
    """Answer a whole table in the form of its changes: with marks which say that nothing went."""
    return marked_whole(read_snapshot(session, content, columns=columns), content)


def marked_whole(frame: DataFrame, content: SnapshotContent) -> DataFrame:
    """Answer all rows of a table with the marks that its changes have."""
    if content.is_signed:
        return frame.withColumn(CHANGE, F.lit(1))
    return frame.withColumn(DELETED, F.lit(False)) if content.is_merge else frame


def rows_that_came(session: SparkSession, changes: Changes, columns: Sequence[str] | None = None) -> DataFrame:
    """Answer the rows of all batches as they came."""
    return read_snapshot(session, _together(changes.batches, changes.schema), columns=columns)


def rows_that_went(session: SparkSession, changes: Changes, columns: Sequence[str] | None = None) -> DataFrame:
    """Answer the rows that the batches took out."""
    return read_snapshot(session, _together(changes.gone, changes.schema), columns=columns)


def _marked(frame: DataFrame) -> DataFrame:
    return frame.withColumn(DELETED, F.coalesce(F.col(DELETED), F.lit(False)))


def _together(batches: Sequence[SnapshotContent], schema: str) -> SnapshotContent:
    files = tuple(msgspec.structs.replace(file, name=batch.place(file)) for batch in batches for file in batch.files)
    return SnapshotContent(path="", files=files, schema=schema, rows=0, bytes=0)


def write_compacted(session: SparkSession, table: SnapshotContent, destination: str) -> SnapshotContent:
    """Write the rows of a table, and those set aside from it, again in as few files as their size asks for.

    Raises when a row is missing.
    """
    content = _rewritten(session, table, destination)
    if table.bad is None:
        return content
    bad = _rewritten(session, table.bad, f"{destination}/{BAD}")
    aside = SetAside(path=bad.path, files=bad.files, schema=bad.schema, rows=bad.rows, bytes=bad.bytes)
    return msgspec.structs.replace(content, set_aside=aside)


def _rewritten(session: SparkSession, table: SnapshotContent, destination: str) -> SnapshotContent:
    frame, layout = read_snapshot(session, table), None
    if table.by:
        layout = Layout.decide(frame.schema, parsed(table.by))
    else:
        frame = frame.coalesce(1 + table.bytes // FILE_BYTES)
    content = write_files(frame, destination, layout=layout).as_content()
    if content.rows != table.rows:
        raise PondageError(
            f"the files of the batches have {content.rows:,} rows, their footers said {table.rows:,}",
            hint="the batches are left as they are; pondage doctor",
            code="COMPACTION",
        )
    return content
