"""Pruning: Runs that were thinned and whose data has gone leave the ledger in small batches; of each a line stays."""

from __future__ import annotations

import msgspec

from pondage.ledger.data import pages, past
from pondage.ledger.data.pages import PageRef
from pondage.ledger.data.past import PastRun
from pondage.ledger.database.driver import Transaction, numbered
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import reads

BATCH = 200
MOST_STEPS = 100_000
"""So many recorded steps of Ponds stay at most: with fewer all of retention can be repeated (`doctor --replay`)."""

# A Run that was thinned may go when all its snapshots are gone. `vacuum` sweeps those before, and never one that an
# active Run pins: so no pin of an active Run is left without its Run.
_PAGE = """
SELECT r.id AS id, r.pond AS pond, r.number AS number, r.state AS state, r.definition AS definition,
       r.freshness - r.delay AS moment, r.read_at IS NOT NULL AS is_read, r.started_at AS started_at,
       r.ended_at AS ended_at,
       CASE WHEN NOT EXISTS (SELECT 1 FROM snapshots s WHERE s.run = r.id AND s.swept_at IS NULL)
                 AND NOT EXISTS (SELECT 1 FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
                                 JOIN environments e ON e.id = r.environment
                                 WHERE o.run = r.id AND s.swept_at IS NULL AND e.removed_at IS NULL)
                 AND NOT EXISTS (SELECT 1 FROM snapshots s JOIN run_outputs o ON o.snapshot = s.id
                                 WHERE s.run = r.id AND o.run <> r.id)
                 AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.run = r.id AND d.outcome IS NULL)
                 AND (SELECT count(*) FROM runs b WHERE b.rollback_of = r.id) = 0
                 AND (SELECT count(*) FROM runs b WHERE b.origin = r.id) = 0
            THEN 1 ELSE 0 END AS is_prunable
FROM (SELECT * FROM runs WHERE thinned_at IS NOT NULL AND id > :after ORDER BY id LIMIT :batch) r ORDER BY r.id"""

# Each deletes at most one batch, found at the beginning of an index: rows are old where they are numbered low.
_OLD = (
    """DELETE FROM advancements WHERE at < :limit AND id IN (SELECT id FROM advancements ORDER BY id LIMIT :batch)""",
    """DELETE FROM outbox WHERE done_at < :limit AND id IN (SELECT id FROM outbox ORDER BY id LIMIT :batch)""",
    """DELETE FROM executions WHERE dispatch IN
       (SELECT d.id FROM (SELECT id, closed_at FROM dispatches WHERE run IS NULL AND actor IS NULL
                          ORDER BY id LIMIT :batch) d
        WHERE d.closed_at < :limit)""",
    """DELETE FROM dispatches WHERE closed_at < :limit AND id IN
       (SELECT id FROM dispatches WHERE run IS NULL AND actor IS NULL ORDER BY id LIMIT :batch)""",
    """DELETE FROM processes WHERE id IN
       (SELECT p.id FROM processes p WHERE p.dead_at < :limit
        AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.process = p.id AND e.completed_at IS NULL)
        ORDER BY p.dead_at LIMIT :batch)""",
)


class _Over(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    pond: int
    number: int
    state: str
    definition: int
    moment: int
    is_read: bool
    started_at: int
    ended_at: int | None
    is_prunable: bool


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """What one look found; `after` is where the next one begins, None when no more Runs were thinned."""

    prunable: list[_Over]
    after: int | None


def prune(ledger: Ledger, *, dry_run: bool = False) -> int:
    """Take out everything that may go, one batch in each short transaction, and answer how many Runs went.

    With `dry_run` only answer how many would. Two that prune at once share the Runs between them.
    """
    pruned, after = 0, 0
    while True:
        with ledger.reading() as tx:
            page = _look(tx, after)
        if dry_run:
            pruned += len(page.prunable)
        elif page.prunable:
            with ledger.transaction() as tx:
                pruned += _take_out(tx, page.prunable)
        if page.after is None:
            break
        after = page.after
    while not dry_run and _delete_old(ledger):
        pass
    if not dry_run:
        _forget_steps(ledger)
    while not dry_run and _age_reads(ledger):
        pass
    return pruned


def _limit(tx: Transaction, ledger: Ledger) -> int:
    return tx.now - int(ledger.durability.retention_days * 86_400_000_000)


def _look(tx: Transaction, after: int) -> Page:
    rows = tx.rows(_PAGE, _Over, after=after, batch=BATCH)
    return Page(prunable=[row for row in rows if row.is_prunable], after=None if len(rows) < BATCH else rows[-1].id)


def _take_out(tx: Transaction, prunable: list[_Over]) -> int:
    """Delete Runs that were found prunable: nothing that is over and swept ever comes back, so they still are."""
    marks, values = numbered("run", [row.id for row in prunable])
    # Held, so that of two that prune at once only one writes what stays of them.
    held = set(tx.rows(f"SELECT id FROM runs WHERE id IN ({marks}) /*lock skip*/", int, **values))
    if not held:
        return 0
    _remember(tx, [row for row in prunable if row.id in held])
    marks, values = numbered("run", sorted(held))
    tx.change(f"DELETE FROM run_outputs WHERE run IN ({marks})", **values)
    paged = tx.rows(_PAGED.format(condition=f"s.run IN ({marks})"), _Paged, **values)
    for table in ("batches", "manifests", "snapshot_lists"):
        tx.change(f"DELETE FROM {table} WHERE snapshot IN (SELECT id FROM snapshots WHERE run IN ({marks}))", **values)
    _forget_pages(tx, paged)
    tx.change(f"DELETE FROM decisions WHERE run IN ({marks})", **values)
    tx.change(f"DELETE FROM snapshots WHERE run IN ({marks})", **values)
    tx.change(
        f"""DELETE FROM executions WHERE dispatch IN (SELECT id FROM dispatches WHERE run IN ({marks}))""", **values
    )
    tx.change(
        f"UPDATE job_runs SET dispatch = NULL WHERE dispatch IN (SELECT id FROM dispatches WHERE run IN ({marks}))",
        **values,
    )
    tx.change(f"DELETE FROM dispatches WHERE run IN ({marks})", **values)
    tx.change(f"DELETE FROM runs WHERE id IN ({marks})", **values)
    return len(held)


class _Paged(msgspec.Struct, frozen=True, kw_only=True):
    """The pages of one manifest, and whose table it is: in every environment, because a table goes on below another."""

    pond: str
    ripple: str
    pages: tuple[PageRef, ...]


_PAGED = """SELECT p.name AS pond, d.ripple AS ripple, m.pages AS pages
            FROM manifests m JOIN snapshots s ON s.id = m.snapshot JOIN datasets d ON d.id = s.dataset
            JOIN ponds p ON p.id = d.pond WHERE m.pages <> '[]' AND {condition}"""


def _forget_pages(tx: Transaction, gone: list[_Paged]) -> None:
    """Delete the pages of manifests that went, but those that another manifest of the same table shares."""
    for pond, ripple in sorted({(each.pond, each.ripple) for each in gone}):
        left = tx.rows(
            _PAGED.format(condition="p.name = :pond AND d.ripple = :ripple"), _Paged, pond=pond, ripple=ripple
        )
        mine = [page for each in gone if (each.pond, each.ripple) == (pond, ripple) for page in each.pages]
        pages.forget(tx, mine, (page for each in left for page in each.pages))


def _remember(tx: Transaction, gone: list[_Over]) -> None:
    marks, values = numbered("run", [row.id for row in gone])
    rows = dict(
        tx.rows(
            f"""SELECT run, CAST(sum(rows) AS bigint) AS rows FROM snapshots
                WHERE run IN ({marks}) AND kind <> 'compact' GROUP BY run""",
            tuple[int, int],
            **values,
        )
    )
    work = dict(
        tx.rows(
            f"""SELECT d.run AS run, CAST(sum(e.completed_at - e.claimed_at) AS bigint) AS work_us
                FROM dispatches d JOIN executions e ON e.dispatch = d.id
                WHERE d.run IN ({marks}) AND e.claimed_at IS NOT NULL AND e.completed_at IS NOT NULL GROUP BY d.run""",
            tuple[int, int],
            **values,
        )
    )
    by_pond: dict[int, list[PastRun]] = {}
    for row in gone:
        line = PastRun(
            number=row.number,
            state=row.state,
            ended_at=row.started_at if row.ended_at is None else row.ended_at,
            moment=row.moment,
            is_read=row.is_read,
            definition=row.definition,
            rows=rows.get(row.id, 0),
            work_us=work.get(row.id, 0),
        )
        by_pond.setdefault(row.pond, []).append(line)
    for pond in sorted(by_pond):
        past.remember(tx, pond, by_pond[pond])


def _delete_old(ledger: Ledger) -> bool:
    """Take out a batch of what has no Run: old advancements, carried-out outbox rows, answered questions, dead
    processes. Answer whether there may be more."""
    with ledger.transaction() as tx:
        limit = _limit(tx, ledger)
        deleted = [tx.change(statement, limit=limit, batch=BATCH) for statement in _OLD]
        deleted.append(past.forget(tx, batch=BATCH))
    return any(count >= BATCH for count in deleted)


def _forget_steps(ledger: Ledger) -> None:
    """Take out the oldest recorded steps of Ponds and reactors beyond `MOST_STEPS`; those of a job go with its run."""
    after: int | None = 0
    with ledger.reading() as tx:
        last = (tx.row("SELECT max(id) AS id FROM advancements", int) or 0) - MOST_STEPS
    while after is not None and after < last:
        with ledger.transaction() as tx:
            page = tx.rows(
                "SELECT id FROM advancements WHERE id > :after AND id <= :last ORDER BY id LIMIT :batch",
                int,
                after=after,
                last=last,
                batch=BATCH,
            )
            if page:
                tx.change(
                    """DELETE FROM advancements WHERE id > :after AND id <= :page
                       AND actor IN (SELECT id FROM actors WHERE kind <> 'run')""",
                    after=after,
                    page=page[-1],
                )
        after = page[-1] if page else None


def _age_reads(ledger: Ledger) -> bool:
    """Put old minutes of the read log together, and delete what is too old; answer whether there may be more."""
    with ledger.transaction() as tx:
        has_coarsened = reads.coarsen(tx)
        return reads.forget(tx, keep_days=ledger.durability.reads_keep) or has_coarsened
