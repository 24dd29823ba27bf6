"""Carrying out a Ripple that grows its table or follows others: what the ledger knows, as DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from pondage.define.pond.definition import ReadDefinition
from pondage.define.pond.partition import Partition, PartitionColumn
from pondage.engine.attempt.followed_tables import Following
from pondage.errors import PondageError
from pondage.ledger.commit.increments import BaseTable, Increments
from pondage.ledger.kinds.ripple import RippleTask
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.claims import Claim
from pondage.work.snapshot import Changes, Increment, SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from pondage.spark.ripple.merge import Merge
    from pondage.spark.ripple.partition import Cut
    from pondage.spark.ripple.ripple import RippleWork

AGAIN = "again"
"""Where a Ripple writes that went on although it had to be called anew, and so has written already."""


class Growing:
    """One Ripple of a claim, and the tables that it follows or extends."""

    def __init__(self, session: SparkSession, ledger: Ledger, claim: Claim, task: RippleTask) -> None:
        self._session = session
        self._task = task
        self._increments = Increments(ledger, claim)
        self._table: BaseTable | None = None

    def following(self, *, is_full: bool = False) -> Following:
        """Answer what a call of the Ripple learns about the tables it follows."""
        return Following(
            self._task, self._increments, whole=self._whole, part=self._part, selected=self._selected, past=self._past,
            is_full=is_full,
        )  # fmt: skip

    def once(self, work: RippleWork) -> SnapshotContent | None:
        """Call the Ripple and answer its snapshot, None when it said that nothing changed."""
        from pondage.spark.ripple.ripple import UNCHANGED, run_ripple

        self._table = None
        result = run_ripple(self._session, work)
        return None if result is UNCHANGED else result

    def with_increment(self, content: SnapshotContent, following: Following) -> SnapshotContent:
        """Answer the snapshot with how far its Ripple has taken in what it follows."""
        return following.carried(msgspec.structs.replace(content, increment=self._increment(following, content)))

    def _whole(self, read: ReadDefinition) -> DataFrame:
        from pondage.spark.files.changes import read_all

        content = self._task.inputs[read.parameter]
        if content is None:
            raise PondageError(
                f"run.changes: {read.table(self._task.definition.name)} has never published",
                hint="ask for the changes of an optional Source only when its parameter is not None",
                code="NEVER_PUBLISHED",
            )
        return read_all(self._session, content, columns=read.columns)

    def _past(self, snapshot: int) -> DataFrame:
        from pondage.spark.files.read import read_snapshot

        return read_snapshot(self._session, self._increments.table(snapshot).content)

    def _part(self, read: ReadDefinition, changes: Changes) -> DataFrame:
        from pondage.spark.files.changes import read_changes

        return read_changes(self._session, changes, columns=read.columns)

    def merge(self, following: Following) -> Merge | None:
        """Answer what the rows are merged into, None for a table that is not merged."""
        if self._task.definition.mode != "merge":
            return None
        from pondage.spark.ripple.merge import Merge

        def base() -> SnapshotContent | None:
            if following.extended is None:
                return None
            self._table = self._increments.table(following.extended)
            return self._table.content

        return Merge(keys=self._task.definition.keys, base=base)

    def cut(self, following: Following) -> Cut | None:
        """Answer which partitions the rows replace, None for a table without."""
        definition = self._task.definition.partition
        if definition is None:
            return None
        from pondage.spark.ripple.partition import Cut

        def table() -> SnapshotContent | None:
            return None if following.extended is None else self._increments.table(following.extended).content

        def foreign() -> SnapshotContent | None:
            return None if following.extended_by in (None, definition.texts) else table()

        return Cut(
            definition=definition,
            freshness_us=self._task.freshness,
            asked=lambda: following.replaced,
            only=lambda: following.only,
            has_base=lambda: following.extended is not None,
            takes_late=lambda: following.chunk is not None,
            foreign=foreign,
            table=table,
        )

    def _selected(
        self, read: ReadDefinition, columns: Sequence[PartitionColumn], found: set[Partition] | None
    ) -> Column:
        from pondage.spark.files.layout import selected

        content = self._task.inputs[read.parameter]
        return selected("" if content is None else content.schema, columns, found)

    def _increment(self, following: Following, content: SnapshotContent) -> Increment | None:
        increment = following.increment()
        if increment is None or content.increment is None:
            return increment
        return msgspec.structs.replace(
            increment,
            kept=content.increment.kept,
            changes=content.increment.changes,
            by=content.increment.by,
            partitions=content.increment.partitions,
            manifest=None if self._table is None else self._table.manifest,
        )


def elsewhere(destination: str) -> str:
    """Answer where a Ripple writes that is called anew after it has written."""
    return f"{destination}/{destination.rpartition('/')[2]}.{AGAIN}"
