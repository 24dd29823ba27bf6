"""What a dispatch says about its work, in the row's `inputs`. Snapshots are the ledger's ids."""

from __future__ import annotations

import msgspec

from pondage.define.pond.definition import ExpectationDefinition
from pondage.define.pond.partition import Chunk
from pondage.define.values.names import PondKey
from pondage.ledger.data.pages import Member
from pondage.work.snapshot import SnapshotContent


class RippleInputs(msgspec.Struct, frozen=True, kw_only=True):
    """The work of a Ripple: whose it is, which definition it keeps, where it writes, what it reads."""

    pond: PondKey
    pond_id: int
    definition: int
    dataset: int
    dataset_id: str
    run_id: str
    previous_freshness: int | None
    snapshots: dict[str, int | None]
    is_forced: bool = False
    is_full: bool = False
    going_on: tuple[int, ...] = ()
    """What it goes on from beside what it reads: the table that it keeps up to date, its old inputs, and the batches in
    between. Named here so that they stay while it works."""
    chunk: Chunk | None = None
    """What a chunk of a backfill computes again; None for every other Run."""


class Breaks(msgspec.Struct, frozen=True, kw_only=True):
    """A question for rows that break rules. They are in the view `table`, or in `rejected`, which nobody published."""

    entry: str
    ripple: str
    rules: tuple[ExpectationDefinition, ...]
    rejected: SnapshotContent | None = None


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """Two states of one table, the views `before.RIPPLE` and `after.RIPPLE`, of which one may be missing.

    Without `keys` rows are compared as a whole. Floating numbers that differ by no more than `tolerance`, of themselves
    or of 1, are the same.
    """

    ripple: str
    keys: tuple[str, ...]
    tolerance: float = 0.0


class QueryInputs(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The work of a query: the operator's SQL, or what else he asks, and the published snapshots it may see."""

    sql: str
    limit: int
    views: dict[str, int]
    fused: dict[str, str] = {}
    """Tables that do not exist because the Ripple is fused, with the one that holds it: `{"sales.clean": "daily"}`."""
    breaks: Breaks | None = None
    compared: tuple[Compared, ...] = ()
    newest: dict[str, tuple[int, str]] = {}
    """Views that show the newest Run when the question is begun, because it waits for one: the Pond and its Ripple."""


class CompactInputs(msgspec.Struct, frozen=True, kw_only=True):
    """The work of a compaction: the snapshot whose table it is, and the members of its manifest to put together."""

    pond: int
    pond_name: str
    dataset: int
    dataset_id: str
    run: int
    run_id: str
    snapshot: int
    members: tuple[Member, ...]
    bytes: int


ripple_inputs = msgspec.json.Decoder(RippleInputs).decode
compact_inputs = msgspec.json.Decoder(CompactInputs).decode
query_inputs = msgspec.json.Decoder(QueryInputs).decode
