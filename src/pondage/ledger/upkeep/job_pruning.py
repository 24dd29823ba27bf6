"""Runs of jobs that are older than retention: first their tables go, then their rows. A line of history stays."""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction, batches, numbered
from pondage.ledger.ledger import Ledger

BATCH = 200


class DoomedTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table of a run whose files nobody needs."""

    id: int
    path: str


def limit_of(tx: Transaction, ledger: Ledger) -> int:
    """Answer the moment before which a run must have ended to be out of retention."""
    return tx.now - int(ledger.durability.retention_days * 86_400_000_000)


# What can be extracted has a retention of its own, shorter or longer than that of its run.
_MARKED = """tombstoned_at IS NULL AND
             ((kept_us IS NULL AND run IN (SELECT id FROM job_runs WHERE ended_at < :limit OR cleaned_at IS NOT NULL))
              OR (kept_us IS NOT NULL AND run IN
                  (SELECT r.id FROM job_runs r WHERE r.ended_at + run_tables.kept_us < :now)))"""


def mark(ledger: Ledger) -> None:
    """Mark the tables of runs that are out of retention, before a file of them is touched, and let streams go."""
    _expire_streams(ledger)
    with ledger.reading() as tx:
        limit = limit_of(tx, ledger)
        if tx.row(f"SELECT id FROM run_tables WHERE {_MARKED} LIMIT 1", limit=limit) is None:
            return
    with ledger.transaction() as tx:
        tx.change(f"UPDATE run_tables SET tombstoned_at = :now WHERE {_MARKED}", limit=limit)


def _expire_streams(ledger: Ledger) -> None:
    """Forget the segments whose time is over; their files are nobody's from then on, which a vacuum finds."""
    with ledger.reading() as tx:
        doomed = [row for row in tx.rows(_ENDED_STREAMS, _EndedStream) if _is_over(tx, ledger, row)]
    for row in doomed:
        with ledger.transaction() as tx:
            tx.change(
                "DELETE FROM segments WHERE run = :run AND instance = :instance AND port = :port",
                run=row.run,
                instance=row.instance,
                port=row.port,
            )


_ENDED_STREAMS = """SELECT DISTINCT s.run AS run, s.instance AS instance, s.port AS port, r.ended_at AS ended_at,
                           r.definition AS definition
                    FROM segments s JOIN job_runs r ON r.id = s.run WHERE r.ended_at IS NOT NULL"""


class _EndedStream(msgspec.Struct, frozen=True, kw_only=True):
    run: int
    instance: str
    port: str
    ended_at: int
    definition: int


def _is_over(tx: Transaction, ledger: Ledger, row: _EndedStream) -> bool:
    version, ended_at = ledger.job(tx, row.definition), row.ended_at
    kept_us = version.kept_us(row.instance, row.port)
    return ended_at < limit_of(tx, ledger) if kept_us is None else ended_at + kept_us < tx.now


def sweepable(tx: Transaction, *, before: int) -> list[DoomedTable]:
    """Answer one batch of tables that were marked before, and whose files no other run has taken over."""
    return tx.rows(
        """SELECT t.id AS id, t.path AS path FROM run_tables t
           WHERE t.tombstoned_at < :before
                 AND NOT EXISTS (SELECT 1 FROM run_tables k WHERE k.path = t.path
                                 AND (k.tombstoned_at IS NULL OR k.tombstoned_at >= :before))
           ORDER BY t.id LIMIT :batch""",
        DoomedTable,
        before=before,
        batch=BATCH,
    )


def swept(tx: Transaction, ids: list[int]) -> None:
    """Forget tables whose files are gone."""
    for some in batches(ids):
        marks, values = numbered("id", some)
        tx.change(f"DELETE FROM run_tables WHERE id IN ({marks})", **values)


def kept_tokens(tx: Transaction, tokens: list[str]) -> set[str]:
    """Answer those tokens whose files must stay: the execution is open, or a run still has something of it."""
    kept: set[str] = set()
    for start in range(0, len(tokens), BATCH):
        marks, names = numbered("token", tokens[start : start + BATCH])
        rows = tx.rows(
            f"""SELECT e.token AS token FROM executions e
                WHERE e.token IN ({marks})
                  AND (e.completed_at IS NULL OR EXISTS (SELECT 1 FROM run_tables t WHERE t.execution = e.id)
                       OR EXISTS (SELECT 1 FROM segments s WHERE s.execution = e.id))""",
            str,
            **names,
        )
        kept.update(rows)
    return kept


# A Ripple's body stays with the Pond's Run, whose snapshot its execution made. A run that another one resumed stays as
# long as that one: its executions made the tables that were taken over. One whose marked files a younger run still has
# keeps its rows, too.
_PRUNABLE = """SELECT r.actor AS actor FROM job_runs r
               WHERE (r.ended_at < :limit OR r.cleaned_at IS NOT NULL) AND r.dispatch IS NULL
                     AND r.ended_at + coalesce(r.kept_us, 0) < :now
                     AND NOT EXISTS (SELECT 1 FROM run_tables t WHERE t.run = r.id)
                     AND NOT EXISTS (SELECT 1 FROM job_runs n WHERE n.resumed_from = r.id)
               ORDER BY r.id DESC LIMIT :batch"""

_ROWS = (
    "DELETE FROM run_rows WHERE actor IN ({marks})",
    "DELETE FROM segments WHERE run IN (SELECT id FROM job_runs WHERE actor IN ({marks}))",
    "DELETE FROM cursors WHERE run IN (SELECT id FROM job_runs WHERE actor IN ({marks}))",
    "DELETE FROM signals WHERE actor IN ({marks})",
    "DELETE FROM executions WHERE dispatch IN (SELECT id FROM dispatches WHERE actor IN ({marks}))",
    "DELETE FROM dispatches WHERE actor IN ({marks})",
    "DELETE FROM advancements WHERE actor IN ({marks})",
    "DELETE FROM job_runs WHERE actor IN ({marks})",
    "DELETE FROM actors WHERE id IN ({marks})",
)


def prune(ledger: Ledger, *, dry_run: bool = False) -> int:
    """Take out runs without tables, one batch in each short transaction, and answer how many went."""
    pruned = 0
    while True:
        with ledger.reading() as tx:
            actors = tx.rows(_PRUNABLE, int, limit=limit_of(tx, ledger), batch=BATCH)
        pruned += len(actors)
        if dry_run or not actors:
            return pruned
        marks, values = numbered("actor", actors)
        with ledger.transaction() as tx:
            for statement in _ROWS:
                tx.change(statement.format(marks=marks), **values)
