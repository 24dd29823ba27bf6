"""The partitions of a table: made by which Run and which code, how large, and which are missing."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pondage.define.pond.definition import PondDefinition, RippleDefinition
from pondage.define.pond.partition import Partition, missing, unit_of
from pondage.ledger.data import pages
from pondage.ledger.data.manifests import Manifest
from pondage.ledger.data.pages import Entry
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row

MOST = 400
"""How many partitions, and how many missing ones, a view has at most: a year of days, and some."""


class PartitionView(msgspec.Struct, frozen=True, kw_only=True):
    """One partition: the Run that made its rows, and whether the code of its Ripple is still the same."""

    values: Partition
    rows: int
    bytes: int
    run: str
    made_at: int
    is_older_code: bool


class PartitionsView(msgspec.Struct, frozen=True, kw_only=True):
    """The partitions of a table, the last ones first. `missing` are those between the first and the last of a time."""

    by: tuple[str, ...]
    count: int
    older_code: int
    partitions: tuple[PartitionView, ...]
    missing: tuple[str, ...]


def partitions_view(
    tx: Transaction, definition: PondDefinition, ripple: RippleDefinition, manifest: Manifest | None
) -> PartitionsView | None:
    """Answer the partitions of a published table, None when it has none."""
    declared = definition.partition
    if declared is None or manifest is None or not manifest.pages:
        return None
    entries = sorted(pages.listed(tx, manifest.pages), key=_order, reverse=True)
    return PartitionsView(
        by=declared.texts,
        count=len(entries),
        older_code=sum(entry.code != ripple.digest for entry in entries),
        partitions=tuple(
            of_row(PartitionView, entry, values=entry.partition, is_older_code=entry.code != ripple.digest)
            for entry in entries[:MOST]
        ),
        missing=_missing(definition, entries),
    )


def _order(entry: Entry) -> tuple[tuple[str, int, str], ...]:
    """Answer what sorts partitions: nulls first, numbers as numbers, texts as texts."""
    return tuple(
        ("0", 0, "") if value is None else ("1", value, "") if isinstance(value, int) else ("2", 0, value)
        for value in entry.partition
    )


def _missing(definition: PondDefinition, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Answer the times without a partition: in the unit that is expected, or in the one that the values are of."""
    declared = definition.partition
    assert declared is not None
    place = declared.by.index(declared.time)
    there = {value for entry in entries for value in [entry.partition[place]] if isinstance(value, str)}
    unit = declared.expected or declared.time.unit or unit_of(max(there, default=None))
    return () if unit is None else tuple(missing(there, unit)[-MOST:])
