"""Pruning: finished Runs older than retention leave the ledger in small batches; a summary of each stays in history."""

from __future__ import annotations

from pondage.define.names import pond_key
from pondage.ledger import history
from pondage.ledger.driver import Row, Transaction, number, numbered, text
from pondage.ledger.ledger import Ledger

BATCH = 200

# A Run may go when it is over and old, is none of the newest of its Pond, and all its snapshots are gone. `vacuum`
# sweeps those before, and never one that an active Run pins: so no pin of an active Run is left without its Run.
_PRUNABLE = """
SELECT r.id AS id, r.public_id AS public_id, r.environment AS environment, r.state AS state, r.reason AS reason,
       r.freshness AS freshness, r.started_at AS started_at, r.ended_at AS ended_at,
       p.name AS name, p.major AS major
FROM runs r JOIN ponds p ON p.id = r.pond
WHERE r.ended_at < :limit
  AND r.id NOT IN (SELECT n.id FROM runs n WHERE n.pond = r.pond ORDER BY n.id DESC LIMIT :keep)
  AND NOT EXISTS (SELECT 1 FROM snapshots s WHERE s.run = r.id AND s.swept_at IS NULL)
  AND NOT EXISTS (SELECT 1 FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
                  WHERE o.run = r.id AND s.swept_at IS NULL)
  AND NOT EXISTS (SELECT 1 FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
                  WHERE s.run = r.id AND o.run <> r.id)
  AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.run = r.id AND d.outcome IS NULL)
  AND NOT EXISTS (SELECT 1 FROM runs b WHERE b.rollback_of = r.id)
ORDER BY r.ended_at LIMIT :batch"""


def prune(ledger: Ledger) -> int:
    """Take out one batch, in one short transaction, and answer how many Runs went; 0 means that nothing is left."""
    durability = ledger.durability
    with ledger.transaction() as tx:
        limit = tx.now - int(durability.retention_days * 86_400_000_000)
        rows = tx.rows(_PRUNABLE, limit=limit, keep=durability.keep_runs + 1, batch=BATCH)
        for row in rows:
            _summarise(tx, row)
        ids = [number(row, "id") for row in rows]
        if ids:
            _delete(tx, ids)
        _delete_old(tx, limit)
    return len(ids)


def _summarise(tx: Transaction, row: Row) -> None:
    history.record(
        tx,
        environment=number(row, "environment"),
        kind="run",
        pond=pond_key(text(row, "name"), number(row, "major")),
        run=text(row, "public_id"),
        payload={key: row[key] for key in ("state", "reason", "freshness", "started_at", "ended_at")},
    )


def _delete(tx: Transaction, ids: list[int]) -> None:
    marks, values = numbered("run", ids)
    tx.change(f"DELETE FROM run_outputs WHERE run IN ({marks})", **values)
    tx.change(f"DELETE FROM snapshots WHERE run IN ({marks})", **values)
    tx.change(
        f"""DELETE FROM executions WHERE dispatch IN (SELECT id FROM dispatches WHERE run IN ({marks}))""", **values
    )
    tx.change(f"DELETE FROM dispatches WHERE run IN ({marks})", **values)
    tx.change(f"DELETE FROM runs WHERE id IN ({marks})", **values)


def _delete_old(tx: Transaction, limit: int) -> None:
    """Take out what has no Run: old advancements, carried-out outbox rows, answered queries, dead processes."""
    for statement in (
        "DELETE FROM advancements WHERE id IN (SELECT id FROM advancements WHERE at < :limit ORDER BY id LIMIT :batch)",
        """DELETE FROM outbox WHERE id IN
           (SELECT id FROM outbox WHERE done_at < :limit ORDER BY id LIMIT :batch)""",
        """DELETE FROM executions WHERE dispatch IN
           (SELECT id FROM dispatches WHERE run IS NULL AND closed_at < :limit ORDER BY id LIMIT :batch)""",
        """DELETE FROM dispatches WHERE id IN
           (SELECT id FROM dispatches WHERE run IS NULL AND closed_at < :limit ORDER BY id LIMIT :batch)""",
        """DELETE FROM processes WHERE id IN (SELECT p.id FROM processes p WHERE p.dead_at < :limit
           AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.process = p.id) ORDER BY p.id LIMIT :batch)""",
    ):
        tx.change(statement, limit=limit, batch=BATCH)
