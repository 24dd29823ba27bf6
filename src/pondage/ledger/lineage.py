"""Column lineage: kept once for each code of a Ripple and each schema of its inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from pondage.define.definition import RippleDefinition
from pondage.define.lineage import ColumnLineage, Origin
from pondage.define.names import pond_key, table_key
from pondage.define.snapshot import SnapshotContent
from pondage.ledger.driver import Transaction, number, text
from pondage.ledger.inputs import ripple_inputs


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
