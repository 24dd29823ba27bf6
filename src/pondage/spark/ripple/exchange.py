"""Exchanging the rows of files in a table in partitions: each partition keeps the rows of its other files.

What lands is a file, and what is replaced is a partition. So the rows that a touched partition has of files that stay
are written again beside the new ones, once; those of files that came again are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import StringType, StructType

from pondage.define.pond.definition import ExpectationDefinition
from pondage.define.pond.partition import Partition, as_text
from pondage.define.pond.run import FILE_COLUMN
from pondage.spark.files.layout import Layout, PartitionRefused
from pondage.spark.files.read import read_snapshot
from pondage.work.snapshot import DataFile, SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


class Exchange:
    """What stays of a table when a Run brings the rows of whole files: new ones, and some that replace older ones.

    `gone` are the files whose older rows go. `is_whole`: the table is not in these partitions, so all of it is touched.
    `write` writes rows beside those that were returned, each file of one partition.
    """

    def __init__(
        self,
        session: SparkSession,
        table: SnapshotContent,
        gone: Iterable[str],
        *,
        layout: Layout,
        schema: StructType,
        is_whole: bool,
        write: Callable[[DataFrame], SnapshotContent],
    ) -> None:
        self._session = session
        self._table = table
        self._gone = sorted(set(gone))
        self._layout = layout
        self._schema = schema
        self._is_whole = is_whole
        self._write = write
        self._kept: SnapshotContent | None = None
        self._touched: set[Partition] = set()
        _require_files(schema, table, layout.where, has_gone=bool(self._gone))

    def touched(self, returned: Iterable[Partition]) -> tuple[SnapshotContent, set[Partition]]:
        """Write what stays of every partition that is touched; answer it, and which these are. It is done once."""
        if self._kept is None:
            self._touched = {*returned, *self._left()}
            files = [each for each in self._table.files if self._is_whole or each.partition in self._touched]
            self._kept = self._write(self._rows(files).where(self._stays()))
        return self._kept, self._touched

    def rest(self, rule: ExpectationDefinition, content: SnapshotContent) -> SnapshotContent | None:
        """Answer the rows that a `unique` is to hold with, beside those that were returned.

        A key with the columns of the partitions cannot be in two of them.
        """
        if rule.kind != "unique":
            return None
        kept, touched = self.touched(each.partition for each in content.files if each.partition is not None)
        files = tuple(msgspec.structs.replace(each, name=kept.place(each)) for each in kept.files)
        if not self._is_whole and not {each.column for each in self._layout.by} <= set(rule.columns):
            others = (each for each in self._table.files if each.partition not in touched)
            files += tuple(msgspec.structs.replace(each, name=self._table.place(each)) for each in others)
        return msgspec.structs.replace(self._table, files=files, increment=None) if files else None

    def _stays(self) -> Column:
        """Answer whether a row of the table is of a file that stays."""
        return F.coalesce(~F.col(FILE_COLUMN).isin(*self._gone), F.lit(True)) if self._gone else F.lit(True)

    def _left(self) -> set[Partition]:
        """Answer the partitions that lose rows: one look at the column of files, and only when one came again."""
        if not self._gone or self._is_whole:
            return set()
        texts = [text.alias(f"p{number}") for number, text in enumerate(self._layout.texts)]
        gone = self._rows(self._table.files).where(~self._stays()).select(*texts).distinct()
        found = {tuple(row) for row in gone.collect()}
        return {
            each.partition
            for each in self._table.files
            if each.partition is not None and tuple(None if v is None else as_text(v) for v in each.partition) in found
        }

    def _rows(self, files: Iterable[DataFile]) -> DataFrame:
        table = msgspec.structs.replace(self._table, files=tuple(files))
        return read_snapshot(self._session, table, schema=self._schema.json())


def _require_files(schema: StructType, table: SnapshotContent, where: str, *, has_gone: bool) -> None:
    if FILE_COLUMN not in schema.names or not isinstance(schema[FILE_COLUMN].dataType, StringType):
        raise PartitionRefused(
            f"{where} returns no column {FILE_COLUMN}, so nobody could tell which rows are of a file that comes again",
            hint=f"keep the column {FILE_COLUMN} in what it returns, as sources.files gives it",
        )
    if has_gone and FILE_COLUMN not in StructType.fromJson(json.loads(table.schema)).names:
        raise PartitionRefused(
            f"the table of {where} does not say which of its rows are of a file that came again",
            hint=f"begin it anew, with the column {FILE_COLUMN}: pondage force --full {where.partition('.')[0]}",
        )
