"""Runs of which nothing was read, and what they cost: by Pond, the most expensive first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from pondage.define.values.names import PondKey
from pondage.ledger.database.driver import Transaction

MOST_RUNS = 50_000


class UnreadRuns(msgspec.Struct, frozen=True, kw_only=True):
    """Completed Runs of a Pond that a newer one has replaced, and those of which nothing was read: not by a door, not
    through a Run of another Pond, not as part of a later table. `spent_us` is the time that workers spent on them."""

    pond: PondKey
    runs: int
    unread: int
    spent_us: int
    unread_us: int


class _Run(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    pond: PondKey
    pond_id: int
    environment: int
    state: str
    pins: dict[str, int | None]
    origin: int | None
    rollback_of: int | None
    read_at: int | None
    ended_at: int | None


_RUNS = """SELECT r.id AS id, p.name || '@' || p.major AS pond, r.pond AS pond_id, r.environment AS environment,
                  r.state AS state, r.pins AS pins, r.origin AS origin, r.rollback_of AS rollback_of,
                  r.read_at AS read_at, r.ended_at AS ended_at
           FROM (SELECT * FROM runs WHERE pond IS NOT NULL ORDER BY id DESC LIMIT :most) r
           JOIN ponds p ON p.id = r.pond WHERE r.started_at >= :since"""
_SHOWN = """SELECT o.run AS run, s.id AS snapshot, s.run AS made_by FROM run_outputs o
            JOIN snapshots s ON s.id = o.snapshot WHERE o.run >= :first"""
# A table that grows is read with all its batches.
_BATCHES = """SELECT b.snapshot AS snapshot, s.run AS made_by FROM batches b JOIN snapshots s ON s.id = b.parent
              JOIN snapshots n ON n.id = b.snapshot WHERE n.run >= :first"""
_SPENT = """SELECT d.run AS run, CAST(sum(e.completed_at - e.claimed_at) AS BIGINT) AS spent
            FROM dispatches d JOIN executions e ON e.dispatch = d.id
            WHERE d.run >= :first AND d.kind <> 'compact' AND e.claimed_at IS NOT NULL AND e.completed_at IS NOT NULL
            GROUP BY d.run"""


def unread(tx: Transaction, environment: int, *, since: int) -> tuple[UnreadRuns, ...]:
    """Answer what nobody has read of the Runs that started since then. The current Run of a Pond may still be read."""
    runs = {each.id: each for each in tx.rows(_RUNS, _Run, most=MOST_RUNS, since=since)}
    if not runs:
        return ()
    read = _reached((each.id for each in runs.values() if each.read_at is not None), _ways(tx, runs))
    spent = dict(tx.rows(_SPENT, tuple[int, int], first=min(runs)))
    current: dict[int, int] = {}
    for each in runs.values():
        if each.state == "completed":
            current[each.pond_id] = max(each.id, current.get(each.pond_id, 0))
    by_pond: dict[PondKey, list[_Run]] = defaultdict(list)
    for each in runs.values():
        is_over = each.state == "completed" and each.id != current[each.pond_id]
        # What is only shown from above, or shown again, has cost nothing here.
        if is_over and each.environment == environment and each.origin is None and each.rollback_of is None:
            by_pond[each.pond].append(each)
    found = [
        UnreadRuns(
            pond=pond,
            runs=len(some),
            unread=sum(each.id not in read for each in some),
            spent_us=sum(spent.get(each.id, 0) for each in some),
            unread_us=sum(spent.get(each.id, 0) for each in some if each.id not in read),
        )
        for pond, some in by_pond.items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.unread_us, -each.unread, each.pond)))


def _ways(tx: Transaction, runs: Mapping[int, _Run]) -> dict[int, set[int]]:
    """Answer for each Run those whose rows are read with it: its pins, what it shows, what made its tables."""
    ways: dict[int, set[int]] = defaultdict(set)
    for each in runs.values():
        for other in (*each.pins.values(), each.origin, each.rollback_of):
            if other is not None:
                ways[each.id].add(other)
    first = min(runs)
    before: dict[int, set[int]] = defaultdict(set)
    for snapshot, made_by in tx.rows(_BATCHES, tuple[int, int], first=first):
        before[snapshot].add(made_by)
    for run, snapshot, made_by in tx.rows(_SHOWN, tuple[int, int, int], first=first):
        ways[run] |= {made_by} | before[snapshot]
    return ways


def _reached(start: Iterable[int], ways: Mapping[int, set[int]]) -> set[int]:
    pending = list(start)
    found = set(pending)
    while pending:
        for other in ways.get(pending.pop(), ()):
            if other not in found:
                found.add(other)
                pending.append(other)
    return found
