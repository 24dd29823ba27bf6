"""Where a Ripple goes on: the snapshot that it extends, and how far it has taken in the tables it follows.

Both are the same row, written by the guarded commit: so a crash neither skips nor repeats a batch.
"""

from __future__ import annotations

import msgspec

from pondage.define.pond.partition import Partition
from pondage.ledger.data import manifests, pages
from pondage.ledger.data.inputs import ripple_inputs
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.claims import Claim
from pondage.ledger.step import bases
from pondage.ledger.step.bases import Base
from pondage.work.snapshot import Changes, SnapshotContent


class BaseTable(msgspec.Struct, frozen=True, kw_only=True):
    """The whole table that a merge changes. `manifest` is the one whose files these are, in its order."""

    manifest: int | None
    content: SnapshotContent


class Increments:
    """What a worker asks about the work that it holds. Each question is one short look at the ledger."""

    def __init__(self, ledger: Ledger, claim: Claim) -> None:
        self._ledger = ledger
        self._claim = claim
        self._inputs = ripple_inputs(claim.inputs)

    @property
    def is_asked_full(self) -> bool:
        """Answer whether an operator asked for everything."""
        return self._inputs.is_full

    def base(self, *, is_published: bool = False) -> Base | None:
        """Answer what the work extends, or None when there is nothing yet."""
        with self._ledger.reading() as tx:
            return bases.base(tx, self._claim, self._inputs, is_published=is_published)

    def pin(self, parameter: str) -> int | None:
        """Answer the snapshot that the work reads as this input."""
        return self._inputs.snapshots.get(parameter)

    def changes(self, *, cursor: int, pin: int) -> Changes | None:
        """Answer the batches between two snapshots of a table, or None when only the whole can be given."""
        with self._ledger.reading() as tx:
            return manifests.changes(tx, cursor=cursor, pin=pin)

    def partitions(self, snapshot: int) -> list[Partition]:
        """Answer the partitions of a snapshot's table."""
        with self._ledger.reading() as tx:
            found = manifests.newest(tx, [snapshot]).get(snapshot)
            return [] if found is None else [entry.partition for entry in pages.listed(tx, found.pages)]

    def table(self, snapshot: int) -> BaseTable:
        """Answer the whole table of a snapshot, and which manifest it was."""
        with self._ledger.reading() as tx:
            manifest, content = manifests.table(tx, snapshot)
        return BaseTable(manifest=manifest, content=content)

    def whole_table(self, snapshot: int) -> BaseTable | None:
        """Answer the whole table of a snapshot, None when retention has taken a file of it."""
        with self._ledger.reading() as tx:
            found = manifests.whole_table(tx, snapshot)
        return None if found is None else BaseTable(manifest=found[0], content=found[1])
