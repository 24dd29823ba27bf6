"""Column lineage: kept once for each code of a Ripple and each schema of its inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from pondage.define.pond.definition import PondDefinition, RippleDefinition
from pondage.define.values.names import pond_key, split_key, table_key
from pondage.ledger.data.inputs import ripple_inputs
from pondage.ledger.database.driver import Row, Transaction, number, text, text_or_none
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
    row = tx.row("SELECT inputs FROM dispatches WHERE id = :dispatch", dispatch=dispatch)
    if row is None:
        return
    inputs = ripple_inputs(text(row, "inputs"))
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
        "SELECT body FROM column_lineage WHERE dataset = :dataset ORDER BY created_at DESC LIMIT 1", dataset=dataset
    )
    return None if row is None else msgspec.json.decode(text(row, "body"), type=ColumnLineage)


def _table(tx: Transaction, snapshot: int) -> str:
    row = tx.row(
        """SELECT p.name AS name, p.major AS major, t.ripple AS ripple FROM snapshots s
           JOIN datasets t ON t.id = s.dataset JOIN ponds p ON p.id = t.pond WHERE s.id = :snapshot""",
        snapshot=snapshot,
    )
    assert row is not None, f"snapshot {snapshot} is read by a dispatch and not there"
    return table_key(pond_key(text(row, "name"), number(row, "major")), text(row, "ripple"))


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


_TABLE = """SELECT s.public_id AS snapshot, s.content AS content, s.dataset AS dataset, t.ripple AS ripple,
                   p.name AS name, p.major AS major
            FROM snapshots s JOIN datasets t ON t.id = s.dataset JOIN ponds p ON p.id = t.pond"""


def run_facts(tx: Transaction, run: str) -> RunFacts | None:
    """Answer what is told of a Run; None when it is not over, or already forgotten."""
    row = tx.row(
        """SELECT r.id AS id, r.state AS state, r.error AS error, r.started_at AS started_at, r.ended_at AS ended_at,
                  p.name AS name, p.major AS major, d.body AS body, r.pins AS pins, e.name AS environment
           FROM runs r JOIN ponds p ON p.id = r.pond JOIN definitions d ON d.id = r.definition
           JOIN environments e ON e.id = r.environment WHERE r.public_id = :run AND r.ended_at IS NOT NULL""",
        run=run,
    )
    if row is None:
        return None
    definition = msgspec.json.decode(text(row, "body"), type=PondDefinition)
    outputs = tx.rows(
        f"{_TABLE} JOIN run_outputs o ON o.snapshot = s.id WHERE o.run = :run ORDER BY o.id",
        run=number(row, "id"),
    )
    pinned = msgspec.json.decode(text(row, "pins"), type=dict[str, int | None])
    read = {(each.pond, each.ripple) for ripple in definition.ripples for each in ripple.reads if each.pond is not None}
    inputs = [
        each
        for source, source_run in sorted(pinned.items())
        if source_run is not None
        for each in tx.rows(
            f"{_TABLE} JOIN run_outputs o ON o.snapshot = s.id WHERE o.run = :run ORDER BY o.id", run=source_run
        )
        if (split_key(source)[0], text(each, "ripple")) in read
    ]
    return RunFacts(
        environment=text(row, "environment"),
        pond=pond_key(text(row, "name"), number(row, "major")),
        run=run,
        state=text(row, "state"),
        error=text_or_none(row, "error"),
        description=definition.description,
        archive=definition.archive,
        started_at=number(row, "started_at"),
        ended_at=number(row, "ended_at"),
        inputs=tuple(_facts(each) for each in inputs),
        outputs=tuple(
            msgspec.structs.replace(_facts(each), lineage=newest(tx, number(each, "dataset"))) for each in outputs
        ),
    )


def _facts(row: Row) -> TableFacts:
    content = msgspec.json.decode(text(row, "content"), type=SnapshotContent)
    return TableFacts(
        table=table_key(pond_key(text(row, "name"), number(row, "major")), text(row, "ripple")),
        snapshot=text(row, "snapshot"),
        schema=content.schema,
        rows=content.rows,
        bytes=content.bytes,
        files=len(content.files),
    )
