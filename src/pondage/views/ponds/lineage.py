"""Lineage: which tables a table is made of, and which are made of it; with columns, which of theirs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.define.values.names import pond_key, table_key
from pondage.define.values.suggestion import nearest
from pondage.errors import NotFound
from pondage.ledger.data import lineage
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import actors, environments
from pondage.ledger.tables.actors import PondRow
from pondage.views import find
from pondage.views.ponds.lineage_data import (
    MOST_TABLES,
    ColumnEdge,
    Direction,
    LineageEdge,
    LineageTable,
    LineageView,
    run_sources,
    snapshot_sources,
)
from pondage.work.lineage import ColumnLineage


def read_lineage(
    tx: Transaction, environment: str, subject: str, *, direction: Direction = "both", has_columns: bool = False
) -> LineageView:
    """Answer the lineage of `sales`, `sales@2`, `sales.clean` or, by columns, `sales.clean.amount`.

    For a Run or a snapshot it is the way up of the data that was really read. Raises `NotFound` with the nearest name.
    """
    found = find.environment_id(tx, environment)
    for read, identity in ((run_sources, find.run_id), (snapshot_sources, find.snapshot_id)):
        row = identity(tx, found, subject)
        if row is not None:
            tables, edges, has_more = read(tx, row)
            return LineageView(
                environment=environment,
                at=tx.now,
                subject=subject,
                direction="up",
                tables=tuple(tables),
                edges=tuple(sorted(edges)),
                has_more=has_more,
            )
    return _table_lineage(tx, environment, subject, direction=direction, has_columns=has_columns)


def _table_lineage(
    tx: Transaction, environment: str, subject: str, *, direction: Direction, has_columns: bool
) -> LineageView:
    graph = _Graph(tx, find.environment_id(tx, environment))
    starts, column = graph.starts(subject)
    tables, edges, has_more = graph.around(starts, direction)
    columns: tuple[ColumnEdge, ...] = ()
    unknown: tuple[str, ...] = ()
    if has_columns or column is not None:
        columns, unknown = graph.columns(edges)
    if column is not None:
        columns = _of_column(columns, starts[0], column, direction)
        tables, edges = _touched(tables, edges, columns, starts[0])
    return LineageView(
        environment=environment,
        at=tx.now,
        subject=subject,
        direction=direction,
        tables=tuple(tables),
        edges=tuple(sorted(edges)),
        columns=columns,
        unknown=unknown,
        has_more=has_more,
    )


class _Shown(msgspec.Struct, frozen=True, kw_only=True):
    run: str
    number: int
    is_spliced: bool
    delay: int
    freshness: int
    snapshot: str


class _Graph:
    """The deployed Ponds, read as the walk comes to them."""

    def __init__(self, tx: Transaction, environment: int) -> None:
        self._tx = tx
        self._environment = environment
        self._ponds: dict[str, tuple[PondRow, PondDefinition, dict[str, int]] | None] = {}

    def starts(self, subject: str) -> tuple[list[str], str | None]:
        """Answer the tables that a subject means, and the column when it names one."""
        name, *rest = subject.split(".")
        row = find.pond(self._tx, self._environment, name)
        definition = actors.definition(self._tx, row.definition)
        ripples = [each.name for each in definition.ripples]
        if not rest:
            return [table_key(row.key, each) for each in ripples], None
        if len(rest) > 2:
            raise NotFound(f"{subject!r} is no table and no column", hint="POND.RIPPLE.COLUMN", code="NO_TABLE")
        if rest[0] not in ripples:
            close = nearest(rest[0], ripples)
            hint = f"pondage lineage {name}.{close}" if close else f"pondage show {name}"
            raise NotFound(f"{row.key} has no Ripple {rest[0]!r}", hint=hint, code="NO_TABLE")
        return [table_key(row.key, rest[0])], rest[1] if len(rest) == 2 else None

    def around(self, starts: list[str], direction: Direction) -> tuple[list[LineageTable], set[LineageEdge], bool]:
        distances = dict.fromkeys(starts, 0)
        edges: set[LineageEdge] = set()
        has_more = False
        for sign, way in ((-1, "up"), (1, "down")):
            if direction not in (way, "both"):
                continue
            waiting = deque(starts)
            seen = set(starts)
            while waiting:
                table = waiting.popleft()
                for edge in self._up(table) if way == "up" else self._down(table):
                    other = edge.source if way == "up" else edge.target
                    if other not in seen and len(distances) >= MOST_TABLES:
                        has_more = True
                        continue
                    edges.add(edge)
                    if other not in seen:
                        seen.add(other)
                        distances.setdefault(other, distances[table] + sign)
                        waiting.append(other)
        return [self._table(table, distance) for table, distance in distances.items()], edges, has_more

    def columns(self, edges: set[LineageEdge]) -> tuple[tuple[ColumnEdge, ...], tuple[str, ...]]:
        """Answer the columns along the edges, and the tables of which nothing is known yet."""
        found: list[ColumnEdge] = []
        unknown = []
        pairs = {(edge.source, edge.target) for edge in edges}
        for target in sorted({edge.target for edge in edges}):
            known = self._lineage(target)
            if known is None:
                unknown.append(target)
                continue
            for column, origins in known.columns.items():
                found += [_value(origin.table, origin.column, target, column) for origin in origins]
            found += [
                ColumnEdge(source=each.table, source_column=each.column, target=target, target_column="", kind="rows")
                for each in known.rows
            ]
        return tuple(sorted(each for each in found if (each.source, each.target) in pairs)), tuple(unknown)

    def _up(self, table: str) -> Iterator[LineageEdge]:
        pond, _, ripple = table.rpartition(".")
        found = self._pond(pond)
        if found is None:
            return
        _, definition, majors = found
        for read in next((each.reads for each in definition.ripples if each.name == ripple), ()):
            if read.pond is None:
                yield LineageEdge(source=table_key(pond, read.ripple), target=table, parameter=read.parameter)
            elif read.pond in majors:
                source = table_key(pond_key(read.pond, majors[read.pond]), read.ripple)
                yield LineageEdge(source=source, target=table, parameter=read.parameter)

    def _down(self, table: str) -> Iterator[LineageEdge]:
        pond, _, _ = table.rpartition(".")
        found = self._pond(pond)
        readers = [] if found is None else [(pond, each) for each in found[1].ripples]
        for sink in actors.sinks(self._tx, self._environment, pond):
            reading = self._pond(sink)
            readers += [] if reading is None else [(sink, each) for each in reading[1].ripples]
        for key, ripple in readers:
            yield from (edge for edge in self._up(table_key(key, ripple.name)) if edge.source == table)

    def _pond(self, key: str) -> tuple[PondRow, PondDefinition, dict[str, int]] | None:
        if key not in self._ponds:
            row = self._row(key)
            self._ponds[key] = None
            if row is not None:
                sources = self._tx.rows(
                    "SELECT source_name, source_major FROM pond_sources WHERE pond = :pond",
                    tuple[str, int],
                    pond=row.id,
                )
                self._ponds[key] = (row, actors.definition(self._tx, row.definition), dict(sources))
        return self._ponds[key]

    def _row(self, key: str) -> PondRow | None:
        """Answer the Pond that has the data: one above where this environment has none of its own."""
        row = actors.pond(self._tx, self._environment, key)
        if row is not None and row.borrows is None:
            return row
        origin = environments.above(self._tx, self._environment, key)
        return row if origin is None else origin.row

    def _table(self, table: str, distance: int) -> LineageTable:
        pond, _, ripple = table.rpartition(".")
        found = self._pond(pond)
        plain = LineageTable(table=table, pond=pond, ripple=ripple, distance=distance, is_deployed=found is not None)
        if found is None:
            return plain
        row = self._tx.row(
            """SELECT r.public_id AS run, r.number AS number, r.is_spliced AS is_spliced, r.delay AS delay,
                      o.freshness AS freshness, s.public_id AS snapshot
               FROM run_outputs o JOIN runs r ON r.id = o.run JOIN snapshots s ON s.id = o.snapshot
               WHERE o.node = :ripple AND o.run =
                     (SELECT id FROM runs WHERE pond = :pond AND state = 'completed' ORDER BY id DESC LIMIT 1)
               ORDER BY o.id DESC LIMIT 1""",
            _Shown,
            pond=found[0].id,
            ripple=ripple,
        )
        if row is None:
            return plain
        return msgspec.structs.replace(plain, **msgspec.structs.asdict(row))

    def _lineage(self, table: str) -> ColumnLineage | None:
        pond, _, ripple = table.rpartition(".")
        found = self._pond(pond)
        if found is None:
            return None
        statement = "SELECT id FROM datasets WHERE pond = :pond AND ripple = :ripple"
        dataset = self._tx.row(statement, int, pond=found[0].id, ripple=ripple)
        return None if dataset is None else lineage.newest(self._tx, dataset)


def _value(source: str, source_column: str, target: str, target_column: str) -> ColumnEdge:
    return ColumnEdge(
        source=source, source_column=source_column, target=target, target_column=target_column, kind="value"
    )


def _of_column(
    columns: tuple[ColumnEdge, ...], table: str, column: str, direction: Direction
) -> tuple[ColumnEdge, ...]:
    """Answer only what leads to one column, or from it; raises `NotFound` when nothing is known of it."""
    known = {each.target_column for each in columns if each.target == table and each.target_column}
    known |= {each.source_column for each in columns if each.source == table}
    if column not in known:
        close = nearest(column, known)
        hint = f"pondage lineage {table}.{close}" if close else f"pondage lineage {table} --columns"
        raise NotFound(f"nothing is known of a column {column!r} of {table}", hint=hint, code="NO_COLUMN")
    found: set[ColumnEdge] = set()
    for way in ("up", "down"):
        if direction not in (way, "both"):
            continue
        waiting, seen = [(table, column)], {(table, column)}
        while waiting:
            at = waiting.pop()
            for each in columns:
                here = (each.target, each.target_column) if way == "up" else (each.source, each.source_column)
                there = (each.source, each.source_column) if way == "up" else (each.target, each.target_column)
                if here == at:
                    found.add(each)
                    if there not in seen and there[1]:
                        seen.add(there)
                        waiting.append(there)
    return tuple(sorted(found))


def _touched(
    tables: list[LineageTable], edges: set[LineageEdge], columns: tuple[ColumnEdge, ...], start: str
) -> tuple[list[LineageTable], set[LineageEdge]]:
    pairs = {(each.source, each.target) for each in columns}
    kept = {start, *(table for pair in pairs for table in pair)}
    return [each for each in tables if each.table in kept], {
        each for each in edges if (each.source, each.target) in pairs
    }
