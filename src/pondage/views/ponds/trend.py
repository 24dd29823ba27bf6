"""A Pond over its last Runs: how fresh each was, how long it took, and how many rows and bytes it gave."""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction, number, number_or_none, text
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


_RUNS = """SELECT id, public_id, number, state, freshness, delay, started_at, ended_at FROM runs
           WHERE pond = :pond ORDER BY number DESC LIMIT :most"""

_TABLES = """SELECT o.run AS run, o.node AS node, s.rows AS rows, s.bytes AS bytes, s.run AS made_by
             FROM (SELECT id FROM runs WHERE pond = :pond ORDER BY number DESC LIMIT :most) r
             JOIN run_outputs o ON o.run = r.id JOIN snapshots s ON s.id = o.snapshot ORDER BY o.id"""


def trend(tx: Transaction, environment: str, name: str, *, most: int) -> TrendView:
    """Answer the last Runs of a Pond; raises `NotFound`."""
    row = find.pond(tx, find.environment_id(tx, environment), name)
    tables: dict[int, list[TrendTable]] = {}
    for each in tx.rows(_TABLES, pond=row.id, most=most):
        tables.setdefault(number(each, "run"), []).append(
            TrendTable(
                ripple=text(each, "node"),
                rows=number(each, "rows"),
                bytes=number(each, "bytes"),
                is_reused=number(each, "made_by") != number(each, "run"),
            )
        )
    points = [
        TrendPoint(
            run=text(each, "public_id"),
            number=number(each, "number"),
            state=text(each, "state"),
            freshness=number(each, "freshness"),
            delay=number(each, "delay"),
            started_at=number(each, "started_at"),
            ended_at=number_or_none(each, "ended_at"),
            tables=tuple(tables.get(number(each, "id"), ())),
        )
        for each in tx.rows(_RUNS, pond=row.id, most=most)
    ]
    return TrendView(environment=environment, at=tx.now, pond=row.key, points=tuple(reversed(points)))
