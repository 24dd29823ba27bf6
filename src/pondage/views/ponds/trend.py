"""A Pond over its last Runs: how fresh each was, how long it took, and how many rows and bytes it gave."""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.views import find


class TrendTable(msgspec.Struct, frozen=True, kw_only=True):
    """What a Run gave of one Ripple; of a table that grows one batch. `is_reused`: an older Run computed it."""

    ripple: str
    rows: int
    bytes: int
    is_reused: bool


class TrendPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One Run. Its data was fresh as of `freshness`, and `delay` old already when it came."""

    run: str
    number: int
    state: str
    freshness: int
    delay: int
    started_at: int
    ended_at: int | None
    tables: tuple[TrendTable, ...]


class TrendView(msgspec.Struct, frozen=True, kw_only=True):
    """The last Runs of a Pond, oldest first."""

    environment: str
    at: int
    pond: str
    points: tuple[TrendPoint, ...]


_RUNS = """SELECT id, public_id AS run, number, state, freshness, delay, started_at, ended_at FROM runs
           WHERE pond = :pond ORDER BY number DESC LIMIT :most"""

_TABLES = """SELECT o.run AS run, o.node AS ripple, s.rows AS rows, s.bytes AS bytes, s.run <> o.run AS is_reused
             FROM (SELECT id FROM runs WHERE pond = :pond ORDER BY number DESC LIMIT :most) r
             JOIN run_outputs o ON o.run = r.id JOIN snapshots s ON s.id = o.snapshot ORDER BY o.id"""


class _Table(TrendTable, frozen=True, kw_only=True):
    run: int


class _Run(TrendPoint, frozen=True, kw_only=True):
    id: int
    tables: tuple[TrendTable, ...] = ()


def trend(tx: Transaction, environment: str, name: str, *, most: int) -> TrendView:
    """Answer the last Runs of a Pond; raises `NotFound`."""
    row = find.pond(tx, find.environment_id(tx, environment), name)
    tables: dict[int, list[TrendTable]] = {}
    for table in tx.rows(_TABLES, _Table, pond=row.id, most=most):
        tables.setdefault(table.run, []).append(of_row(TrendTable, table))
    points = [
        of_row(TrendPoint, run, tables=tuple(tables.get(run.id, ())))
        for run in tx.rows(_RUNS, _Run, pond=row.id, most=most)
    ]
    return TrendView(environment=environment, at=tx.now, pond=row.key, points=tuple(reversed(points)))
