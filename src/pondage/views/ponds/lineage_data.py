"""What a lineage is made of, and the way up of data that was really read: from a Run or a snapshot, by its inputs."""

from __future__ import annotations

from collections import deque
from typing import Literal

import msgspec

from pondage.define.values.names import PondKey, table_key
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row

Direction = Literal["up", "down", "both"]

MOST_TABLES = 2_000
"""A picture of more tables helps nobody; the rest is left out, and `has_more` says so."""


class LineageTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table of the graph. `distance` counts steps from what was asked for, negative for the way up.

    `snapshot`, `run` and its `number` are what readers see now, or, for the lineage of a Run or a snapshot, what was
    really read.
    """

    table: str
    pond: str
    ripple: str
    distance: int
    is_deployed: bool = True
    snapshot: str | None = None
    run: str | None = None
    number: int | None = None
    freshness: int | None = None
    delay: int = 0
    is_spliced: bool = False


class LineageEdge(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A table is made of another one. `parameter` is the name under which it is read."""

    source: str
    target: str
    parameter: str


class ColumnEdge(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A column's values come from another one (`value`), or that one decides which rows there are (`rows`).

    `target_column` is empty for `rows`: those concern every column.
    """

    source: str
    source_column: str
    target: str
    target_column: str
    kind: Literal["value", "rows"]


class LineageView(msgspec.Struct, frozen=True, kw_only=True):
    """A graph of tables around a subject. `unknown`: tables whose column lineage is known after their next run."""

    environment: str
    at: int
    subject: str
    direction: Direction
    tables: tuple[LineageTable, ...]
    edges: tuple[LineageEdge, ...]
    columns: tuple[ColumnEdge, ...] = ()
    unknown: tuple[str, ...] = ()
    has_more: bool = False


Found = tuple[list[LineageTable], set[LineageEdge], bool]

_READ = """SELECT s.public_id AS snapshot, s.inputs AS inputs, s.freshness AS freshness, r.public_id AS run,
                  r.number AS number,
                  r.delay AS delay, r.is_spliced AS is_spliced, t.ripple AS ripple,
                  p.name || '@' || p.major AS pond
           FROM snapshots s JOIN runs r ON r.id = s.run JOIN datasets t ON t.id = s.dataset
           JOIN ponds p ON p.id = t.pond WHERE s.id = :id"""


def run_sources(tx: Transaction, run: int) -> Found:
    """Answer the snapshots that a Run shows and everything they were made of."""
    return _sources(tx, tx.rows("SELECT snapshot FROM run_outputs WHERE run = :run ORDER BY id", int, run=run))


def snapshot_sources(tx: Transaction, snapshot: int) -> Found:
    """Answer a snapshot and everything it was made of."""
    return _sources(tx, [snapshot])


class _Read(msgspec.Struct, frozen=True, kw_only=True):
    snapshot: str
    inputs: dict[str, int | None]
    freshness: int
    run: str
    number: int
    delay: int
    is_spliced: bool
    ripple: str
    pond: PondKey


def _sources(tx: Transaction, starts: list[int]) -> Found:
    """Walk the inputs; one that retention has taken away ends its branch."""
    tables: dict[int, LineageTable] = {}
    edges: set[LineageEdge] = set()
    waiting = deque((each, 0, "", "") for each in starts)
    has_more = False
    while waiting:
        identity, distance, target, parameter = waiting.popleft()
        known = identity in tables
        row = None if known else tx.row(_READ, _Read, id=identity)
        if not known and row is None:
            continue
        if row is not None:
            if len(tables) >= MOST_TABLES:
                has_more = True
                continue
            tables[identity] = of_row(LineageTable, row, table=table_key(row.pond, row.ripple), distance=distance)
            for name, read in row.inputs.items():
                if read is not None:
                    waiting.append((read, distance - 1, tables[identity].table, name))
        if target:
            edges.add(LineageEdge(source=tables[identity].table, target=target, parameter=parameter))
    return list(tables.values()), edges, has_more
