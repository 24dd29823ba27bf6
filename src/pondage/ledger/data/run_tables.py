"""Tables that the components of a run wrote: visible inside the run, removed with its retention."""

from __future__ import annotations

import hashlib

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.work.snapshot import SnapshotContent


class RunTable(msgspec.Struct, frozen=True, kw_only=True):
    """One output of one instance."""

    instance: str
    component: str
    port: str
    execution: int
    content: SnapshotContent
    digest: str
    is_marked: bool = False
    """Its files are about to be deleted: the run is out of retention."""
    kept_us: int | None = None
    """How long it can be extracted after the end of the run; None when nobody extracts it."""


_COLUMNS = "instance, component, port, execution, content, digest, tombstoned_at IS NOT NULL AS is_marked, kept_us"


def digest_of(content: SnapshotContent) -> str:
    """Answer what tells whether the files are still the same, without a scan: schema, names, sizes, statistics."""
    parts = [content.schema, sorted((file.name, file.rows, file.bytes) for file in content.files)]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def insert(tx: Transaction, run: int, table: RunTable) -> None:
    """Write an output. Only a guarded commit does this, or a run that takes it over from an earlier one."""
    tx.write(
        """INSERT INTO run_tables (run, instance, component, port, execution, path, content, digest, rows, bytes,
                                   kept_us, created_at)
           VALUES (:run, :instance, :component, :port, :execution, :path, :content, :digest, :rows, :bytes, :kept_us,
                   :now)""",
        run=run,
        instance=table.instance,
        component=table.component,
        port=table.port,
        execution=table.execution,
        path=table.content.path,
        content=msgspec.json.encode(table.content).decode(),
        digest=table.digest,
        rows=table.content.rows,
        bytes=table.content.bytes,
        kept_us=table.kept_us,
    )


def hand_over(tx: Transaction, run: int, table: RunTable) -> None:
    """Forget an output whose files belong to a snapshot from now on."""
    tx.write_one(
        "DELETE FROM run_tables WHERE run = :run AND instance = :instance AND port = :port",
        run=run,
        instance=table.instance,
        port=table.port,
    )


def find(tx: Transaction, run: int, instance: str, port: str) -> RunTable | None:
    """Answer what an instance wrote to a port."""
    return tx.row(
        f"SELECT {_COLUMNS} FROM run_tables WHERE run = :run AND instance = :instance AND port = :port",
        RunTable,
        run=run,
        instance=instance,
        port=port,
    )


def gathered(tx: Transaction, run: int, component: str, port: str) -> list[RunTable]:
    """Answer what all instances of a component wrote to a port."""
    return tx.rows(
        f"""SELECT {_COLUMNS} FROM run_tables WHERE run = :run AND component = :component AND port = :port""",
        RunTable,
        run=run,
        component=component,
        port=port,
    )


def of_run(tx: Transaction, run: int) -> list[RunTable]:
    """Answer everything that a run has, in the order in which it came."""
    return tx.rows(f"SELECT {_COLUMNS} FROM run_tables WHERE run = :run ORDER BY id", RunTable, run=run)
