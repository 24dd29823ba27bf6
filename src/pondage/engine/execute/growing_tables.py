"""Carrying out a Ripple that grows its table or follows others: what the ledger knows, as DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pondage.define.pond.definition import ReadDefinition
from pondage.engine.attempt.followed_tables import Following
from pondage.errors import PondageError
from pondage.ledger.commit.increments import BaseTable, Increments
from pondage.ledger.commit.work import RippleTask
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.claims import Claim
from pondage.work.snapshot import Changes, Increment, SnapshotContent

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from pondage.define.pond.run import Followed
    from pondage.spark.ripple.merge import Merge
    from pondage.spark.ripple.ripple import RippleWork

AGAIN = "again"
"""Where a Ripple writes that went on although it had to be called anew, and so has written already."""


class Growing:
    """One Ripple of a claim: called once, and again with everything when a followed table cannot say what changed."""

    def __init__(self, session: SparkSession, ledger: Ledger, claim: Claim, task: RippleTask) -> None:
        self._session = session
        self._task = task
        self._increments = Increments(ledger, claim)
        self._table: BaseTable | None = None

    def run(self, prepared: Callable[[Followed, Merge | None], RippleWork]) -> SnapshotContent | None:
        """Run the Ripple and answer its snapshot with its increment, None when it said that nothing changed."""
        following = self._following(is_full=False)
        work = prepared(following, self._merge(following))
        try:
            content = self._once(work)
        except PondageError:
            if not following.has_failed:
                raise
            content = None
        if following.has_failed:
            # The author's code was told that it gets changes, and then they could not be given.
            following = self._following(is_full=True)
            work = prepared(following, self._merge(following))
            place = f"{work.destination}/{work.destination.rpartition('/')[2]}.{AGAIN}"
            content = self._once(msgspec.structs.replace(work, destination=place))
        if content is None:
            return None
        return msgspec.structs.replace(content, increment=self._increment(following, content))

    def _once(self, work: RippleWork) -> SnapshotContent | None:
        from pondage.spark.ripple.ripple import UNCHANGED, run_ripple

        self._table = None
        result = run_ripple(self._session, work)
        return None if result is UNCHANGED else result

    def _following(self, *, is_full: bool) -> Following:
        return Following(self._task, self._increments, whole=self._whole, part=self._part, is_full=is_full)

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

    def _part(self, read: ReadDefinition, changes: Changes) -> DataFrame:
        from pondage.spark.files.changes import read_changes

        return read_changes(self._session, changes, columns=read.columns)

    def _merge(self, following: Following) -> Merge | None:
        if self._task.definition.mode != "merge":
            return None
        from pondage.spark.ripple.merge import Merge

        def base() -> SnapshotContent | None:
            if following.extended is None:
                return None
            self._table = self._increments.table(following.extended)
            return self._table.content

        return Merge(keys=self._task.definition.keys, base=base)

    def _increment(self, following: Following, content: SnapshotContent) -> Increment | None:
        increment = following.increment()
        if increment is None or content.increment is None:
            return increment
        return msgspec.structs.replace(
            increment,
            kept=content.increment.kept,
            changes=content.increment.changes,
            manifest=None if self._table is None else self._table.manifest,
        )
