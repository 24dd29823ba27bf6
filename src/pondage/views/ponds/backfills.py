"""Backfills as people see them: how far one is, which chunks have failed, and what one would compute."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.define.pond.partition import Partition
from pondage.ledger.data import manifests, pages, snapshots
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import backfills
from pondage.ledger.tables.backfills import BackfillRow, BackfillState, ChunkState
from pondage.plan.backfill import KnownPartition
from pondage.views.runs.runs import FailureView, read_failure

RECENT = 20
"""How many chunks say how long the next ones take."""


class ChunkView(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk: its partitions, and the Run that computed them last."""

    number: int
    partitions: tuple[Partition, ...]
    state: ChunkState
    error: FailureView | None = None
    run: str | None = None
    started_at: int | None = None
    ended_at: int | None = None


class BackfillView(msgspec.Struct, frozen=True, kw_only=True):
    """A backfill and its progress, in chunks. `left_us` is how long the rest takes, None while nobody knows."""

    backfill: str
    pond: str
    state: BackfillState
    reason: str
    request: str
    note: str
    by: tuple[str, ...]
    created_at: int
    ended_at: int | None
    at: int
    chunks: int
    completed: int
    failed: int
    partitions: int
    left_us: int | None = None


class BackfillDetail(BackfillView, frozen=True, kw_only=True):
    """A backfill with its chunks, in the order in which they are computed."""

    listed: tuple[ChunkView, ...]


class BackfillsView(msgspec.Struct, frozen=True, kw_only=True):
    """The newest backfills, the newest first."""

    at: int
    backfills: tuple[BackfillView, ...]


class BackfillPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a backfill would compute. `rows` and `bytes` are what its partitions have now; `time_us` is Spark's.

    `new` are partitions that the table does not have. `sinks` read the Pond, and take the change with their next Run.
    """

    pond: str
    by: tuple[str, ...]
    chunks: tuple[tuple[Partition, ...], ...]
    partitions: int
    new: int
    rows: int
    bytes: int
    time_us: int | None
    sinks: tuple[str, ...]


class _Timed(msgspec.Struct, frozen=True, kw_only=True):
    chunk: int
    run: int
    started_at: int
    ended_at: int | None


def known_partitions(tx: Transaction, definition: PondDefinition, pond: int) -> list[KnownPartition]:
    """Answer the partitions of all tables of a Pond together."""
    run = snapshots.current_run(tx, pond)
    outputs = {} if run is None else snapshots.outputs(tx, run)
    found = manifests.newest(tx, [each.snapshot for each in outputs.values()])
    digests = {ripple.name: ripple.digest for ripple in definition.ripples}
    known: dict[Partition, KnownPartition] = {}
    for name, output in outputs.items():
        manifest = found.get(output.snapshot)
        for entry in () if manifest is None else pages.listed(tx, manifest.pages):
            before = known.get(entry.partition, KnownPartition(partition=entry.partition))
            known[entry.partition] = KnownPartition(
                partition=entry.partition,
                rows=before.rows + entry.rows,
                bytes=before.bytes + entry.bytes,
                is_older_code=before.is_older_code or entry.code != digests.get(name),
            )
    return list(known.values())


def failed_partitions(tx: Transaction, pond: int) -> set[Partition]:
    """Answer the partitions whose last chunk has failed."""
    rows = tx.rows(
        """SELECT c.partitions AS partitions, c.state AS state FROM chunks c JOIN backfills b ON b.id = c.backfill
           WHERE b.pond = :pond AND c.state IN ('completed', 'failed') ORDER BY c.ended_at, c.id""",
        tuple[tuple[Partition, ...], str],
        pond=pond,
    )
    last = {partition: state for partitions, state in rows for partition in partitions}
    return {partition for partition, state in last.items() if state == "failed"}


def partition_us(tx: Transaction, pond: int) -> int | None:
    """Answer how long the last chunks of a Pond took for each partition, None when there were none."""
    rows = tx.rows(
        """SELECT c.partitions AS partitions, r.ended_at - r.started_at AS took
           FROM runs r JOIN chunks c ON c.id = r.chunk
           WHERE r.pond = :pond AND r.state = 'completed' AND r.chunk IS NOT NULL ORDER BY r.id DESC LIMIT :recent""",
        tuple[tuple[Partition, ...], int],
        pond=pond,
        recent=RECENT,
    )
    count = sum(len(partitions) for partitions, _ in rows)
    return sum(took for _, took in rows) // count if count else None


def plan_view(
    tx: Transaction,
    pond: str,
    pond_id: int,
    definition: PondDefinition,
    *,
    chunks: Sequence[Sequence[Partition]],
    known: Sequence[KnownPartition],
    sinks: Sequence[str],
) -> BackfillPlan:
    """Answer what these chunks would compute."""
    sizes = {each.partition: each for each in known}
    wanted = [each for chunk in chunks for each in chunk]
    each_us = partition_us(tx, pond_id)
    return BackfillPlan(
        pond=pond,
        by=() if definition.partition is None else definition.partition.texts,
        chunks=tuple(tuple(chunk) for chunk in chunks),
        partitions=len(wanted),
        new=sum(each not in sizes for each in wanted),
        rows=sum(sizes[each].rows for each in wanted if each in sizes),
        bytes=sum(sizes[each].bytes for each in wanted if each in sizes),
        time_us=None if each_us is None else each_us * len(wanted),
        sinks=tuple(sinks),
    )


def view(tx: Transaction, row: BackfillRow) -> BackfillDetail:
    """Answer a backfill with its chunks."""
    chunks = backfills.chunks(tx, row.id)
    runs = tx.rows(
        """SELECT r.chunk AS chunk, r.number AS run, r.started_at AS started_at, r.ended_at AS ended_at
           FROM chunks c JOIN runs r ON r.chunk = c.id WHERE c.backfill = :backfill ORDER BY r.id""",
        _Timed,
        backfill=row.id,
    )
    last = {each.chunk: each for each in runs}
    left = [each for each in chunks if each.state in ("waiting", "sent")]
    each_us = partition_us(tx, row.pond_id)
    return BackfillDetail(
        backfill=row.public_id,
        pond=row.pond,
        state=row.state,
        reason=row.reason,
        request=row.request,
        note=row.note,
        by=row.columns,
        created_at=row.created_at,
        ended_at=row.ended_at,
        at=tx.now,
        chunks=len(chunks),
        completed=sum(each.state == "completed" for each in chunks),
        failed=sum(each.state == "failed" for each in chunks),
        partitions=sum(len(each.partitions) for each in chunks),
        left_us=None if each_us is None else each_us * sum(len(each.partitions) for each in left),
        listed=tuple(
            ChunkView(
                number=each.number + 1,
                partitions=each.partitions,
                state=each.state,
                error=read_failure(each.error),
                run=None if (run := last.get(each.id)) is None else f"{row.pond}#{run.run}",
                started_at=None if run is None else run.started_at,
                ended_at=None if run is None else run.ended_at,
            )
            for each in chunks
        ),
    )


def summary(tx: Transaction, row: BackfillRow) -> BackfillView:
    """Answer a backfill without its chunks."""
    detail = view(tx, row)
    return BackfillView(**{name: getattr(detail, name) for name in BackfillView.__struct_fields__})
