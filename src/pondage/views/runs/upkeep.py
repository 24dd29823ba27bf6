"""What a Run did to keep a table up to date, as it is shown."""

from __future__ import annotations

import msgspec

from pondage.ledger.database.mapping import of_row
from pondage.work.snapshot import SnapshotContent


class UpkeepView(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence (`said`), and `how` in a word: `append`, `keyed`, `nothing`, or `full`.

    `changed` of the `of` rows of its inputs came or went, where that is known; `rows` were written, those that only
    moved to another file included. `is_verified`: everything was computed beside, and compared; `differing` are keys
    for which a verification of this code has found something else.
    """

    how: str
    said: str
    changed: int | None
    of: int | None
    rows: int | None
    is_verified: bool
    differing: tuple[str, ...]


def upkeep_view(content: SnapshotContent | None) -> UpkeepView | None:
    """Answer it of a table that is kept up to date, None of any other."""
    return None if content is None or content.upkeep is None else of_row(UpkeepView, content.upkeep)
