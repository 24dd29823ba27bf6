"""Backfills: their rows, the chunks that each is cut into, and what can happen to one.

A chunk is *sent* while its Pond has it; the Pond says exactly once how that ended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.define.pond.partition import Chunk, Partition
from pondage.define.values.names import PondKey
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import actors

BackfillState = Literal["running", "paused", "completed", "failed", "cancelled"]
ChunkState = Literal["waiting", "sent", "completed", "failed", "cancelled"]
OPEN = ("running", "paused")


class ChunkOver(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="chunk over"):
    """The Pond is done with a chunk; `reason` is the machine's word for how that came."""

    chunk: int
    reason: str
    error: str = ""


class PauseBackfill(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="pause"):
    """Send no further chunk; the one that runs goes on."""

    reason: str = ""


class ResumeBackfill(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="resume"):
    """Send the next chunk, the first one, too, to be computed by this code."""

    code: str


class PondDeployed(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="deployed"):
    """Its Pond was deployed, with this code: with other code it waits until somebody says that it goes on."""

    code: str


class CancelBackfill(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="cancel"):
    """Stop the chunk that runs, and send none of the others."""

    reason: str = ""


BackfillEvent = ChunkOver | PauseBackfill | ResumeBackfill | PondDeployed | CancelBackfill
decode_event = msgspec.json.Decoder(BackfillEvent).decode


class BackfillRow(msgspec.Struct, frozen=True, kw_only=True):
    """A backfill; `pond_actor` is the catchment that its Pond belongs to, and `is_removed` says that there is none."""

    id: int
    public_id: str
    environment: int
    actor: int
    pond: PondKey
    pond_id: int
    pond_actor: int
    is_removed: bool
    state: BackfillState
    reason: str
    code: str
    columns: tuple[str, ...]
    request: str
    note: str
    stops: bool
    created_at: int
    ended_at: int | None

    @property
    def is_open(self) -> bool:
        """Answer whether it may still send chunks."""
        return self.state in OPEN


class ChunkRow(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk of a backfill: the partitions, by these columns, that one Run computes again."""

    id: int
    backfill: int
    number: int
    columns: tuple[str, ...]
    partitions: tuple[Partition, ...]
    state: ChunkState
    error: str | None
    ended_at: int | None

    @property
    def named(self) -> Chunk:
        """Answer what a Ripple is told of it."""
        return Chunk(by=self.columns, partitions=self.partitions)


_BACKFILL = """SELECT b.id AS id, b.public_id AS public_id, b.environment AS environment, b.actor AS actor,
                      p.name || '@' || p.major AS pond, p.id AS pond_id, p.actor AS pond_actor,
                      CASE WHEN p.removed_at IS NULL THEN 0 ELSE 1 END AS is_removed,
                      b.state AS state, b.reason AS reason, b.code AS code, b.columns AS columns, b.request AS request,
                      b.note AS note, b.stops AS stops,
                      b.created_at AS created_at, b.ended_at AS ended_at
               FROM backfills b JOIN ponds p ON p.id = b.pond """
_CHUNK = """SELECT c.id AS id, c.backfill AS backfill, c.number AS number, b.columns AS columns,
                   c.partitions AS partitions, c.state AS state, c.error AS error, c.ended_at AS ended_at
            FROM chunks c JOIN backfills b ON b.id = c.backfill """


def insert(
    tx: Transaction,
    *,
    public_id: str,
    environment: int,
    pond: int,
    code: str,
    columns: Sequence[str],
    request: str,
    note: str,
    stops: bool,
    chunks: Sequence[Sequence[Partition]],
) -> int:
    """Write a backfill with its chunks, in the order in which they are sent, and answer its actor."""
    actor = actors.create(tx, environment_id=environment, kind="backfill", key=public_id)
    identity = tx.insert(
        """INSERT INTO backfills (public_id, environment, actor, pond, state, code, columns, request, note, stops,
                                  created_at)
           VALUES (:public_id, :environment, :actor, :pond, 'paused', :code, :columns, :request, :note, :stops,
                   :now)""",
        public_id=public_id,
        environment=environment,
        actor=actor,
        pond=pond,
        code=code,
        columns=msgspec.json.encode(columns).decode(),
        request=request,
        note=note,
        stops=int(stops),
    )
    for number, partitions in enumerate(chunks):
        tx.write(
            "INSERT INTO chunks (backfill, number, partitions) VALUES (:backfill, :number, :partitions)",
            backfill=identity,
            number=number,
            partitions=msgspec.json.encode(partitions).decode(),
        )
    return actor


def of_actor(tx: Transaction, actor: int) -> BackfillRow:
    """Answer the backfill of an actor."""
    return tx.one(_BACKFILL + "WHERE b.actor = :actor", BackfillRow, actor=actor)


def by_public_id(tx: Transaction, environment: int, public_id: str) -> BackfillRow | None:
    """Answer the backfill that people call so."""
    statement = _BACKFILL + "WHERE b.public_id = :public_id AND b.environment = :environment"
    return tx.row(statement, BackfillRow, public_id=public_id, environment=environment)


def open_of(tx: Transaction, pond: int) -> list[BackfillRow]:
    """Answer the backfills of a Pond that are not over, the oldest first."""
    return tx.rows(_BACKFILL + "WHERE b.pond = :pond AND b.ended_at IS NULL ORDER BY b.id", BackfillRow, pond=pond)


def newest(tx: Transaction, environment: int, *, limit: int) -> list[BackfillRow]:
    """Answer the newest backfills of an environment, the newest first."""
    statement = _BACKFILL + "WHERE b.environment = :environment ORDER BY b.id DESC LIMIT :limit"
    return tx.rows(statement, BackfillRow, environment=environment, limit=limit)


def put_state(tx: Transaction, backfill: int, state: BackfillState, reason: str = "") -> None:
    """Say how a backfill is now; one that is over stays so."""
    tx.write_one(
        """UPDATE backfills SET state = :state, reason = :reason,
                  ended_at = CASE WHEN :is_open = 1 THEN NULL ELSE :now END
           WHERE id = :id AND ended_at IS NULL""",
        id=backfill,
        state=state,
        reason=reason,
        is_open=int(state in OPEN),
    )


def put_code(tx: Transaction, backfill: int, code: str) -> None:
    """Say with which code the next chunks are computed."""
    tx.write("UPDATE backfills SET code = :code WHERE id = :id", id=backfill, code=code)


def code_of(definition: PondDefinition) -> str:
    """Answer what decides what the chunks of a Pond give: the code of its Ripples, and its partitions."""
    by = () if definition.partition is None else definition.partition.texts
    parts = [definition.mode, by, [(ripple.name, ripple.digest) for ripple in definition.ripples]]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def chunk(tx: Transaction, identity: int) -> ChunkRow:
    """Answer a chunk."""
    return tx.one(_CHUNK + "WHERE c.id = :id", ChunkRow, id=identity)


def chunks(tx: Transaction, backfill: int) -> list[ChunkRow]:
    """Answer all chunks of a backfill in their order."""
    return tx.rows(_CHUNK + "WHERE c.backfill = :backfill ORDER BY c.number", ChunkRow, backfill=backfill)


def first_in(tx: Transaction, backfill: int, state: ChunkState) -> ChunkRow | None:
    """Answer the first chunk in this state."""
    statement = _CHUNK + "WHERE c.backfill = :backfill AND c.state = :state ORDER BY c.number LIMIT 1"
    return tx.row(statement, ChunkRow, backfill=backfill, state=state)


def put_chunk(tx: Transaction, identity: int, *, was: ChunkState, state: ChunkState, error: str = "") -> None:
    """Say how a chunk is now. Only the backfill's actor does, so its row cannot be otherwise than it was read."""
    tx.write_one(
        """UPDATE chunks SET state = :state, error = :error,
                  ended_at = CASE WHEN :is_open = 1 THEN NULL ELSE :now END
           WHERE id = :id AND state = :was""",
        id=identity,
        was=was,
        state=state,
        error=error or None,
        is_open=int(state in ("waiting", "sent")),
    )


def cancel_waiting(tx: Transaction, backfill: int) -> None:
    """Give up every chunk that was not sent."""
    tx.change(
        "UPDATE chunks SET state = 'cancelled', ended_at = :now WHERE backfill = :backfill AND state = 'waiting'",
        backfill=backfill,
    )


def tell(tx: Transaction, actor: int, event: BackfillEvent) -> None:
    """Write something that happened to a backfill as a signal to its actor."""
    actors.put_signal(tx, actor=actor, kind="backfill", payload=msgspec.json.encode(event).decode())


def tell_chunk_over(tx: Transaction, event: ChunkOver) -> int:
    """Tell the backfill of a chunk how it ended, and answer its actor."""
    actor = tx.one(
        "SELECT b.actor AS actor FROM chunks c JOIN backfills b ON b.id = c.backfill WHERE c.id = :id",
        int,
        id=event.chunk,
    )
    tell(tx, actor, event)
    return actor


def tell_all_of(tx: Transaction, pond: int, event: BackfillEvent) -> Iterable[int]:
    """Tell every open backfill of a Pond, and answer their actors."""
    told = [row.actor for row in open_of(tx, pond)]
    for actor in told:
        tell(tx, actor, event)
    return told
