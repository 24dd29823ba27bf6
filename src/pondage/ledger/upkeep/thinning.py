"""Thinning: of Runs that become older fewer and fewer stay, so that a Pond which runs often does not fill a disk.

A Run that is thinned is not needed for its own sake any more: its data and its rows go when nobody else needs them
(`retention`, `pruning`). What is kept is decided for each Pond alone, and never taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, zip_longest

import msgspec

from pondage.define.values.keep import Keep, parsed_keep
from pondage.ledger.database.driver import Transaction, batches, numbered
from pondage.ledger.ledger import Ledger

BATCH = 5_000
"""So many Runs are looked at in one transaction; it may be passed so that those of one Pond stay together."""
CHANGED = 200
"""So many are marked in one."""


class EndedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A Run that is over and not thinned yet."""

    id: int
    ended_at: int
    is_completed: bool


def thinned(runs: Sequence[EndedRun], keep: Keep, *, now: int, newest: int) -> list[int]:
    """Answer which of a Pond's Runs, given from old to new, are to go.

    The `newest` completed ones stay, and all that began after the first of these: they are what is shown, gone back to
    and reused. Of the others a Run stays while a step says so. Runs that completed and those that did not are counted
    apart, so that an hour keeps its last data and its last error.
    """
    completed = [run.id for run in runs if run.is_completed]
    safe = completed[-newest] if len(completed) >= newest else (completed[0] if completed else None)
    found: list[int] = []
    for is_completed in (True, False):
        own = [run for run in runs if run.is_completed == is_completed]
        for run, later in zip_longest(own, own[1:]):
            is_safe = safe is not None and run.id >= safe
            if not is_safe and not _stays(run, later, keep, now):
                found.append(run.id)
    return sorted(found)


def _stays(run: EndedRun, later: EndedRun | None, keep: Keep, now: int) -> bool:
    age = now - run.ended_at
    for step in keep.steps:
        if age < step.until_us:
            every_us = step.every_us
            return later is None or every_us == 0 or run.ended_at // every_us != later.ended_at // every_us
    return False


class _Row(EndedRun, frozen=True, kw_only=True):
    pond: int
    number: int


_ENDED = """SELECT pond, number, id, ended_at, CASE WHEN state = 'completed' THEN 1 ELSE 0 END AS is_completed
            FROM runs WHERE thinned_at IS NULL AND ended_at IS NOT NULL AND """
_PAGE = _ENDED + "pond > :after ORDER BY pond, number LIMIT :batch"
_REST = _ENDED + "pond = :pond AND number > :after ORDER BY pond, number"


def thin(ledger: Ledger, *, dry_run: bool = False) -> int:
    """Mark the Runs that are not to be kept any more, in short transactions; answer how many there were.

    With `dry_run` only answer how many there would be.
    """
    count, after = (0 if dry_run else _thin_removed(ledger)), 0
    while True:
        with ledger.reading() as tx:
            rows = _page(tx, after)
            doomed = _doomed(tx, ledger, rows)
        if not rows:
            return count
        after = rows[-1].pond
        if dry_run:
            count += len(doomed)
            continue
        for start in range(0, len(doomed), CHANGED):
            with ledger.transaction() as tx:
                count += _mark(tx, doomed[start : start + CHANGED])


def _thin_removed(ledger: Ledger) -> int:
    """Mark the Runs of environments that were removed: nothing of these is kept for its own sake."""
    count = 0
    while True:
        with ledger.transaction() as tx:
            marked = tx.change(
                """UPDATE runs SET thinned_at = :now WHERE id IN
                   (SELECT r.id FROM environments e JOIN runs r ON r.environment = e.id
                    WHERE e.removed_at IS NOT NULL AND r.thinned_at IS NULL AND r.ended_at IS NOT NULL LIMIT :batch)""",
                batch=BATCH,
            )
        count += marked
        if marked < BATCH:
            return count


def _doomed(tx: Transaction, ledger: Ledger, rows: list[_Row]) -> list[int]:
    ours, theirs = ledger.durability, _keeps(tx, {row.pond for row in rows})
    return [
        each
        for pond, runs in groupby(rows, key=lambda row: row.pond)
        for each in thinned(list(runs), theirs.get(pond, ours.keeping), now=tx.now, newest=ours.keep_runs)
    ]


def _page(tx: Transaction, after: int) -> list[_Row]:
    """Answer the Runs of the next Ponds, of each all of them."""
    rows = tx.rows(_PAGE, _Row, after=after, batch=BATCH)
    if len(rows) == BATCH:
        rows += tx.rows(_REST, _Row, pond=rows[-1].pond, after=rows[-1].number)
    return rows


class _Said(msgspec.Struct):
    """Of a definition: what it says of keeping."""

    keep: str = ""


def _keeps(tx: Transaction, ponds: set[int]) -> dict[int, Keep]:
    """Answer what these Ponds say themselves."""
    found: dict[int, Keep] = {}
    for some in batches(sorted(ponds)):
        marks, values = numbered("pond", some)
        rows = tx.rows(
            f"""SELECT p.id AS pond, d.body AS body FROM ponds p JOIN definitions d ON d.id = p.definition
                WHERE p.id IN ({marks}) AND d.body LIKE '%"keep":"%'""",
            tuple[int, _Said],
            **values,
        )
        found.update({pond: parsed_keep(said.keep) for pond, said in rows if said.keep})
    return found


def _mark(tx: Transaction, runs: list[int]) -> int:
    marks, values = numbered("run", runs)
    return tx.change(f"UPDATE runs SET thinned_at = :now WHERE thinned_at IS NULL AND id IN ({marks})", **values)
