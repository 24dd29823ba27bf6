"""Reading a snapshot: exactly its files, with exactly its schema, without asking the storage for either."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import StructType

from pondage.errors import PondageError
from pondage.spark.files.partition_index import read_by_partition
from pondage.spark.files.storage import readable_path
from pondage.work.snapshot import SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class NoSuchColumn(PondageError):
    """A column was asked for that the snapshot does not have."""

    code = "NO_SUCH_COLUMN"


def read_snapshot(
    session: SparkSession,
    content: SnapshotContent,
    *,
    columns: Sequence[str] | None = None,
    schema: str | None = None,
) -> DataFrame:
    """Answer the snapshot as a DataFrame; no Spark job is run and no directory is listed.

    `columns` reads only those; `schema` reads with another schema than the snapshot's own, usually today's: columns
    that the files do not have are null. A snapshot without files is an empty table with its schema. Of a table in
    partitions a filter on their columns opens the files of those alone. Raises
    `NoSuchColumn`.
    """
    wanted = StructType.fromJson(json.loads(schema or content.schema))
    if columns is not None:
        wanted = _pruned(wanted, columns)
    if not content.files:
        empty = (F.lit(None).cast(field.dataType).alias(field.name) for field in wanted.fields)
        return session.range(0).select(*empty)
    pruned = read_by_partition(session, content, wanted) if content.by else None
    return (
        pruned
        if pruned is not None
        else (
            session.read.schema(wanted)
            # Explicit files have no partitions: a directory that happens to be named `x=1` must not become a column.
            .option("recursiveFileLookup", "true")
            .parquet(*(readable_path(path) for path in content.paths))
        )
    )


def _pruned(schema: StructType, columns: Sequence[str]) -> StructType:
    known = {field.name: field for field in schema.fields}
    missing = [column for column in columns if column not in known]
    if missing:
        raise NoSuchColumn(
            f"there is no column {', '.join(missing)}; the table has {', '.join(known)}",
            hint="correct `columns=` where the Source is declared",
        )
    return StructType([known[column] for column in dict.fromkeys(columns)])
