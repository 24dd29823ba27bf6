"""An input of a table that is kept up to date, and what became of it since. Values shared by the ledger and Spark."""

from __future__ import annotations

import msgspec

from pondage.work.snapshot import Changes, SnapshotContent


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """An input: as it is, and what led there since the table was made.

    `changes` is None when that is not known, `old` when the input as it was is not there any more.
    """

    new: SnapshotContent
    changes: Changes | None
    old: SnapshotContent | None
    columns: tuple[str, ...] | None = None
