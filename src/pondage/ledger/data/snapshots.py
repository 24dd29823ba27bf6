"""Snapshots, datasets, Run outputs: what data exists and which of it is visible."""

from __future__ import annotations

import msgspec

from pondage.ledger.data import manifests
from pondage.ledger.database.driver import Transaction, numbered
from pondage.work.snapshot import SnapshotContent


class SnapshotRow(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot as inputs of a Ripple and readers need it."""

    id: int
    public_id: str
    digest: str
    kind: str
    content: SnapshotContent


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What one Ripple gave to a Run."""

    node: str
    freshness: int
    snapshot: int


def dataset(tx: Transaction, *, pond: int, ripple: str, new_id: str) -> tuple[int, str]:
    """Answer id and public id of the dataset of a Ripple, and make it when it is the first time."""
    found = tx.row(
        "SELECT id, public_id FROM datasets WHERE pond = :pond AND ripple = :ripple",
        tuple[int, str],
        pond=pond,
        ripple=ripple,
    )
    return found or tx.one(
        """INSERT INTO datasets (public_id, pond, ripple) VALUES (:public_id, :pond, :ripple)
           RETURNING id, public_id""",
        tuple[int, str],
        public_id=new_id,
        pond=pond,
        ripple=ripple,
    )


def insert(
    tx: Transaction,
    *,
    public_id: str,
    dataset_id: int,
    run: int,
    execution: int,
    freshness: int,
    kind: str,
    content: SnapshotContent,
    inputs: str,
    digest: str,
) -> None:
    """Write the snapshot of an execution. Only the guarded commit calls this, after the guard held."""
    tx.write(
        """INSERT INTO snapshots (public_id, dataset, run, execution, freshness, kind, path, content, rows, bytes,
                                  inputs, digest, created_at)
           VALUES (:public_id, :dataset, :run, :execution, :freshness, :kind, :path, :content, :rows, :bytes,
                   :inputs, :digest, :now)""",
        public_id=public_id,
        dataset=dataset_id,
        run=run,
        execution=execution,
        freshness=freshness,
        kind=kind,
        path=content.path,
        content=msgspec.json.encode(content).decode(),
        rows=content.rows,
        bytes=content.bytes,
        inputs=inputs,
        digest=digest,
    )


def load(tx: Transaction, ids: list[int]) -> dict[int, SnapshotRow]:
    """Answer the snapshots with these ids, each with its whole table."""
    if not ids:
        return {}
    marks, values = numbered("id", sorted(set(ids)))
    rows = tx.rows(
        f"SELECT id, public_id, digest, kind, content FROM snapshots WHERE id IN ({marks})", SnapshotRow, **values
    )
    growing = {row.id: row.content for row in rows if row.kind in manifests.GROWING}
    tables = manifests.tables(tx, growing) if growing else {}
    return {row.id: msgspec.structs.replace(row, content=tables[row.id]) if row.id in tables else row for row in rows}


class Newest(msgspec.Struct, frozen=True, kw_only=True):
    """The newest snapshot of a dataset."""

    id: int
    digest: str
    content: SnapshotContent
    is_deleted: bool


_NEWEST = """SELECT id, digest, content, tombstoned_at IS NOT NULL AS is_deleted FROM snapshots
             WHERE dataset = :dataset AND kind <> 'compact' ORDER BY id DESC LIMIT 1"""


def newest(tx: Transaction, dataset_id: int) -> Newest | None:
    """Answer the newest snapshot of a dataset."""
    return tx.row(_NEWEST, Newest, dataset=dataset_id)


def reusable(tx: Transaction, dataset_id: int, digest: str) -> int | None:
    """Answer the newest snapshot of a dataset when it was made of the same and its data may serve again."""
    found = newest(tx, dataset_id)
    if found is None or found.digest != digest or found.is_deleted or found.content.read_freshness:
        return None
    return found.id


def reusable_of(tx: Transaction, *, pond: int, ripple: str, digest: str) -> int | None:
    """Answer the newest snapshot of a Ripple when it may serve again."""
    found = tx.row("SELECT id FROM datasets WHERE pond = :pond AND ripple = :ripple", int, pond=pond, ripple=ripple)
    return None if found is None else reusable(tx, found, digest)


def schema_of(tx: Transaction, *, pond: int, ripple: str) -> str | None:
    """Answer the schema of a Ripple's newest snapshot, None when it has never written."""
    row = tx.row(
        """SELECT s.content AS content FROM snapshots s JOIN datasets d ON d.id = s.dataset
           WHERE d.pond = :pond AND d.ripple = :ripple AND s.kind <> 'compact' ORDER BY s.id DESC LIMIT 1""",
        tuple[SnapshotContent],
        pond=pond,
        ripple=ripple,
    )
    return None if row is None else row[0].schema


def volumes(tx: Transaction, dataset_id: int, count: int) -> tuple[int, ...]:
    """Answer how many rows the last snapshots of a dataset have, newest first."""
    if count == 0:
        return ()
    rows = tx.rows(
        """SELECT rows FROM snapshots WHERE dataset = :dataset AND kind <> 'compact' ORDER BY id DESC LIMIT :count""",
        int,
        dataset=dataset_id,
        count=count,
    )
    return tuple(rows)


_PUBLISHED = """SELECT s.id AS id, s.kind AS kind, s.content AS content, 1 AS is_published
                FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
                WHERE o.run = (SELECT max(id) FROM runs WHERE pond = :pond AND state = 'completed')
                      AND o.node = :ripple"""
_READ = "SELECT id, kind, content, 0 AS is_published FROM snapshots WHERE id IN ({ids}) UNION ALL "


def for_ripple(
    tx: Transaction, ids: list[int], *, pond: int, ripple: str
) -> tuple[dict[int, SnapshotContent], str | None]:
    """Answer what a Ripple reads, each as the whole table, and its contract.

    That is the schema which readers of its Pond's last completed Run see.
    """
    marks, values = numbered("id", sorted(set(ids)))
    statement = (_READ.format(ids=marks) if ids else "") + _PUBLISHED
    read: dict[int, SnapshotContent] = {}
    growing: dict[int, SnapshotContent] = {}
    contract: str | None = None
    for identity, kind, content, is_published in tx.rows(
        statement, tuple[int, str, SnapshotContent, bool], pond=pond, ripple=ripple, **values
    ):
        if is_published:
            contract = content.schema
        else:
            kept = growing if kind in manifests.GROWING else read
            kept[identity] = content
    if growing:
        read |= growing | manifests.tables(tx, growing)
    return read, contract


def put_output(tx: Transaction, *, run: int, pond: int, node: str, freshness: int, snapshot: int) -> None:
    """Say which snapshot a Ripple gave at a freshness."""
    tx.write(
        """INSERT INTO run_outputs (run, pond, node, freshness, snapshot)
           VALUES (:run, :pond, :node, :freshness, :snapshot)""",
        run=run,
        pond=pond,
        node=node,
        freshness=freshness,
        snapshot=snapshot,
    )


def written_by(tx: Transaction, execution: int) -> int:
    """Answer the snapshot that an execution has written."""
    return tx.one("SELECT id FROM snapshots WHERE execution = :execution", int, execution=execution)


def put_written(tx: Transaction, *, run: int, pond: int, node: str, freshness: int, execution: int) -> None:
    """Say that a Ripple gave the snapshot which this execution has just written."""
    tx.write_one(
        """INSERT INTO run_outputs (run, pond, node, freshness, snapshot)
           SELECT :run, :pond, :node, :freshness, id FROM snapshots WHERE execution = :execution""",
        run=run,
        pond=pond,
        node=node,
        freshness=freshness,
        execution=execution,
    )


def choice(tx: Transaction, *, pond: int, node: str, at_least: int) -> Output | None:
    """Answer what a Ripple at freshness F reads of a sibling: the smallest F' >= F, the newest among equals."""
    return tx.row(
        """SELECT node, freshness, snapshot FROM run_outputs
           WHERE pond = :pond AND node = :node AND freshness >= :at_least
           ORDER BY freshness, id DESC LIMIT 1""",
        Output,
        pond=pond,
        node=node,
        at_least=at_least,
    )


def outputs(tx: Transaction, run: int) -> dict[str, Output]:
    """Answer what each Ripple gave to a Run; the newest where a Ripple gave twice."""
    rows = tx.rows("SELECT node, freshness, snapshot FROM run_outputs WHERE run = :run ORDER BY id", Output, run=run)
    return {row.node: row for row in rows}


def current_run(tx: Transaction, pond: int) -> int | None:
    """Answer the last completed Run of a Pond: what readers and Sinks see."""
    return tx.row("SELECT max(id) AS id FROM runs WHERE pond = :pond AND state = 'completed'", int, pond=pond)
