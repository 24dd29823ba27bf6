"""Writing a DataFrame as a snapshot: once, to a directory that nobody else knows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StructType

from pondage.errors import PondageError
from pondage.spark.files.footers import LONGEST_TEXT, Footer, read_footers
from pondage.spark.files.layout import Layout
from pondage.spark.files.storage import plain_names, readable_path, secure, spark_path
from pondage.spark.session.connect import is_connect
from pondage.work.snapshot import SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class OutputRefused(PondageError):
    """A result that cannot become a snapshot: columns of one name, a column without a type."""

    code = "BAD_OUTPUT"


class WrittenFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What one write left behind: its place, its schema (Spark's JSON) and the footers of its files with rows."""

    path: str
    schema: str
    footers: list[Footer]

    @property
    def rows(self) -> int:
        """Answer the number of rows, without having counted them."""
        return sum(footer.rows for footer in self.footers)

    def as_content(self) -> SnapshotContent:
        """Answer the snapshot that these files are."""
        files = tuple(footer.as_data_file() for footer in self.footers)
        return SnapshotContent(
            path=self.path, files=files, schema=self.schema, rows=self.rows, bytes=sum(file.bytes for file in files)
        )


def check_output(schema: StructType) -> None:
    """Raise `OutputRefused` for a schema that cannot be written, before Spark has done any work."""
    if not schema.fields:
        raise OutputRefused("the result has no columns", hint="select at least one column")
    counted = Counter(name.casefold() for name in schema.names)
    doubles = [name for name in schema.names if counted[name.casefold()] > 1]
    if doubles:
        raise OutputRefused(
            f"the result has more than one column named {', '.join(dict.fromkeys(doubles))}",
            hint="give each column a name of its own, for example with `.alias(…)`, or drop one after the join; "
            "upper and lower case are the same to Spark",
        )
    untyped = [name for name in schema.names if _has_void(schema[name].dataType)]
    if untyped:
        raise OutputRefused(
            f"column {untyped[0]} has no type (void), so it cannot be stored",
            hint=f'give it one: F.lit(None).cast("string").alias("{untyped[0]}")',
        )
    check_names(schema)


def check_names(schema: StructType) -> None:
    """Raise `OutputRefused` for names or comments of columns that mean something to Hadoop, which Parquet goes through.

    A schema is one of its settings on the way, and in those `${env.NAME}` stands for a variable, `${name}` for another
    setting, a password of the store among them. It has no switch for that.
    """
    marked = [field.name for field in schema.fields if "${" in field.json()]
    if marked:
        raise OutputRefused(
            f"the name or the comment of column {marked[0]} holds ${{, which Hadoop would replace by something else",
            hint="give it another name, or leave the comment out",
        )


def write_files(frame: DataFrame, destination: str, *, layout: Layout | None = None) -> WrittenFiles:
    """Write the rows in one Spark job to `destination`, secure them on the disk and read their footers.

    With a `layout` each file has the rows of one partition.

    `destination` belongs to one execution and must not exist yet: Spark refuses to write over anything. What a failed
    write leaves there is never listed by a reader, and `vacuum` removes it.
    """
    check_output(frame.schema)
    # Longer values would make the writer leave a column's statistics out altogether, its null count too.
    writer = (frame if layout is None else layout.cut(frame)).write.mode("error")
    writer = writer.option("parquet.statistics.truncate.length", str(LONGEST_TEXT))
    (writer if layout is None else writer.partitionBy(*layout.names)).parquet(spark_path(destination))
    footers = _footers(frame, destination)
    if layout is not None:
        # Named once more: whoever reads files by their names takes `column=value` in a path for a column.
        moved = plain_names(destination, [each.name for each in footers])
        footers = [
            msgspec.structs.replace(each, name=moved[each.name], partition=layout.partition_of(each.name))
            for each in footers
        ]
    secure(destination, [footer.name for footer in footers])
    return WrittenFiles(path=destination, schema=frame.schema.json(), footers=footers)


def _footers(frame: DataFrame, destination: str) -> list[Footer]:
    """Read the footers here, or let a Connect server tell what it knows of a place that only it can read."""
    try:
        return read_footers(destination)
    except (PondageError, OSError):
        if not is_connect(frame.sparkSession):
            raise
    return told_footers(frame, destination)


def _has_void(type_: DataType) -> bool:
    if isinstance(type_, StructType):
        return any(_has_void(field.dataType) for field in type_.fields)
    if isinstance(type_, ArrayType):
        return _has_void(type_.elementType)
    if isinstance(type_, MapType):
        return _has_void(type_.keyType) or _has_void(type_.valueType)
    return isinstance(type_, NullType)


def told_footers(frame: DataFrame, place: str) -> list[Footer]:
    """Answer name, rows and bytes of each file with rows that was just written, without statistics of columns.

    It costs one small job that reads footers only: no metric of the write tells the names of the files, which every
    reader is given.
    """
    written = frame.sparkSession.read.schema(frame.schema).option("recursiveFileLookup", "true")
    files = written.parquet(readable_path(place)).select("_metadata.file_path", "_metadata.file_size")
    rows = files.groupBy("file_path", "file_size").count().collect()
    # Only a partition has directories below the place, and their names are plain.
    inside = f"/{place.rpartition('/')[2]}/"
    footers = [
        Footer(name=row["file_path"].rpartition(inside)[2], rows=row["count"], bytes=row["file_size"], columns={})
        for row in rows
    ]
    return sorted(footers, key=lambda footer: footer.name)
