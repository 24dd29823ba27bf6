"""Column lineage: kept once for each code of a Ripple and each schema of its inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from pondage.define.pond.definition import PondDefinition, RippleDefinition
from pondage.define.values.names import PondKey, split_key, table_key
from pondage.ledger.data.inputs import ripple_inputs
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.work.lineage import ColumnLineage, Origin
from pondage.work.snapshot import SnapshotContent


def lineage_key(ripple: RippleDefinition, inputs: Mapping[str, SnapshotContent | None]) -> str:
    """Answer what a Ripple's lineage depends on: its code and the schemas that it reads."""
    schemas = {name: None if content is None else content.schema for name, content in sorted(inputs.items())}
    return hashlib.sha256(msgspec.json.encode([ripple.digest, schemas])).hexdigest()


def is_known(tx: Transaction, *, dataset_id: str, key: str) -> bool:
    """Answer whether the lineage of a table is kept for this key."""
    row = tx.row(
        """SELECT 1 AS one FROM column_lineage l JOIN datasets t ON t.id = l.dataset
           WHERE t.public_id = :dataset_id AND l.key = :key""",
        dataset_id=dataset_id,
        key=key,
    )
    return row is not None


def keep(tx: Transaction, *, dispatch: int, key: str, lineage: ColumnLineage) -> None:
    """Keep the lineage that the work of a dispatch showed, with the tables instead of the names of parameters."""
    given = tx.row("SELECT inputs FROM dispatches WHERE id = :dispatch", str, dispatch=dispatch)
    if given is None:
        return
    inputs = ripple_inputs(given)
    tables = {name: _table(tx, snapshot) for name, snapshot in inputs.snapshots.items() if snapshot is not None}

    def named(origins: tuple[Origin, ...]) -> tuple[Origin, ...]:
        return tuple(sorted({Origin(tables.get(each.table, each.table), each.column) for each in origins}))

    resolved = ColumnLineage(
        columns={name: named(origins) for name, origins in lineage.columns.items()}, rows=named(lineage.rows)
    )
    tx.write(
        """INSERT INTO column_lineage (dataset, key, body, created_at) VALUES (:dataset, :key, :body, :now)
           ON CONFLICT (dataset, key) DO NOTHING""",
        dataset=inputs.dataset,
        key=key,
        body=msgspec.json.encode(resolved).decode(),
    )


def newest(tx: Transaction, dataset: int) -> ColumnLineage | None:
    """Answer the lineage of a table as its newest code showed it."""
    row = tx.row(
        "SELECT body FROM column_lineage WHERE dataset = :dataset ORDER BY created_at DESC LIMIT 1",
        tuple[ColumnLineage],
        dataset=dataset,
    )
    return None if row is None else row[0]


def _table(tx: Transaction, snapshot: int) -> str:
    pond, ripple = tx.one(
        """SELECT p.name || '@' || p.major AS pond, t.ripple AS ripple FROM snapshots s
           JOIN datasets t ON t.id = s.dataset JOIN ponds p ON p.id = t.pond WHERE s.id = :snapshot""",
        tuple[PondKey, str],
        snapshot=snapshot,
    )
    return table_key(pond, ripple)


class TableFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A table that a Run read or made, as others are told of it."""

    table: str
    snapshot: str
    schema: str
    rows: int
    bytes: int
    files: int
    lineage: ColumnLineage | None = None


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """An ended Run of a Pond, as others are told of it."""

    environment: str
    pond: str
    run: str
    state: str
    error: str | None
    description: str
    archive: str
    started_at: int
    ended_at: int
    inputs: tuple[TableFacts, ...]
    outputs: tuple[TableFacts, ...]
    reads: int = 0
    """How often the Pond was read, as far as the read log goes back; and how many bytes that were."""
    read_bytes: int = 0


_TABLES = """SELECT s.public_id AS snapshot, s.content AS content, s.dataset AS dataset, t.ripple AS ripple,
                    p.name || '@' || p.major AS pond
             FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot JOIN datasets t ON t.id = s.dataset
             JOIN ponds p ON p.id = t.pond WHERE o.run = :run ORDER BY o.id"""


class _Table(msgspec.Struct, frozen=True, kw_only=True):
    snapshot: str
    content: SnapshotContent
    dataset: int
    ripple: str
    pond: PondKey


class _Run(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    environment: str
    pond: PondKey
    state: str
    error: str | None
    started_at: int
    ended_at: int
    definition: PondDefinition
    pins: dict[str, int | None]


def run_facts(tx: Transaction, run: str) -> RunFacts | None:
    """Answer what is told of a Run; None when it is not over, or already forgotten."""
    row = tx.row(
        """SELECT r.id AS id, r.state AS state, r.error AS error, r.started_at AS started_at, r.ended_at AS ended_at,
                  p.name || '@' || p.major AS pond, d.body AS definition, r.pins AS pins, e.name AS environment
           FROM runs r JOIN ponds p ON p.id = r.pond JOIN definitions d ON d.id = r.definition
           JOIN environments e ON e.id = r.environment WHERE r.public_id = :run AND r.ended_at IS NOT NULL""",
        _Run,
        run=run,
    )
    if row is None:
        return None
    definition = row.definition
    read = {(each.pond, each.ripple) for ripple in definition.ripples for each in ripple.reads if each.pond is not None}
    inputs = [
        each
        for source, source_run in sorted(row.pins.items())
        if source_run is not None
        for each in tx.rows(_TABLES, _Table, run=source_run)
        if (split_key(source)[0], each.ripple) in read
    ]
    reads, size = tx.one(
        """SELECT CAST(coalesce(sum(l.count), 0) AS BIGINT) AS reads, CAST(coalesce(sum(l.bytes), 0) AS BIGINT) AS bytes
           FROM reads l JOIN environments e ON e.id = l.environment WHERE e.name = :environment AND l.pond = :pond""",
        tuple[int, int],
        environment=row.environment,
        pond=row.pond,
    )
    return of_row(
        RunFacts,
        row,
        reads=reads,
        read_bytes=size,
        run=run,
        description=definition.description,
        archive=definition.archive,
        inputs=tuple(_facts(each) for each in inputs),
        outputs=tuple(_facts(each, newest(tx, each.dataset)) for each in tx.rows(_TABLES, _Table, run=row.id)),
    )


def _facts(row: _Table, lineage: ColumnLineage | None = None) -> TableFacts:
    return TableFacts(
        table=table_key(row.pond, row.ripple),
        snapshot=row.snapshot,
        schema=row.content.schema,
        rows=row.content.rows,
        bytes=row.content.bytes,
        files=len(row.content.files),
        lineage=lineage,
    )
