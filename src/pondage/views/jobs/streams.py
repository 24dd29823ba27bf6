"""The streams of a run as people see them: how much each holds, and whether more will come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from pondage.kernel.control.shape import Virtual
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.ledger.tables.job_plans import JobVersion

Waits = Literal["", "reader", "writer"]


class ReaderView(msgspec.Struct, frozen=True, kw_only=True):
    """An input that reads a stream: how many of its segments it is done with, and who waits for the other one now."""

    component: str
    port: str
    read: int
    waits: Waits = ""
    error: str | None = None


class StreamView(msgspec.Struct, frozen=True, kw_only=True):
    """A stream that a component writes. `state` is open, ended, lost when its writer failed before the end, or deleted.

    What was deleted, by a clean-up, has no numbers any more.
    """

    component: str
    port: str
    state: str
    segments: int | None = None
    rows: int | None = None
    bytes: int | None = None
    readers: tuple[ReaderView, ...] = ()


def streams(
    tx: Transaction, run: int, version: JobVersion, states: Iterable[tuple[str, str]]
) -> tuple[StreamView, ...]:
    """Answer the streams of every component that has begun; `states` gives each instance and its state."""
    known = {(row.component, row.port): row for row in tx.rows(_SUMS, _Sums, run=run)}
    readers: dict[tuple[str, str], list[ReaderView]] = {}
    for row in tx.rows(_READERS, _ReaderRow, run=run):
        readers.setdefault((row.instance, row.stream), []).append(_reader(row))
    found = []
    for name, state in states:
        shape = version.shape_of(name)
        if state in _BEGUN and shape.virtual is Virtual.NONE and version.definition(shape).mode == "stream":
            found += [
                _read(_stream(name, port, state, known), readers.get((name, port), []))
                for port in version.writes(shape, is_fused=False)
            ]
    return tuple(found)


def _read(stream: StreamView, readers: list[ReaderView]) -> StreamView:
    """Answer a stream with its readers. Its end is an entry that they read, too, but no segment."""
    told = (
        reader if stream.segments is None else msgspec.structs.replace(reader, read=min(reader.read, stream.segments))
        for reader in readers
    )
    return msgspec.structs.replace(stream, readers=tuple(told))


def _reader(row: _ReaderRow) -> ReaderView:
    # Only who works at it waits.
    waits: Waits = "writer" if row.is_blocking else "reader" if row.is_waited and row.is_open else ""
    return of_row(ReaderView, row, waits=waits)


def _stream(name: str, port: str, state: str, known: Mapping[tuple[str, str], _Sums]) -> StreamView:
    row = known.get((name, port))
    if row is None and state == "OK":
        return StreamView(component=name, port=port, state="deleted")  # whoever is OK has at least closed it
    row = row or _Sums(component=name, port=port)
    return of_row(StreamView, row, state="ended" if row.ends else "lost" if state in ("ERROR", "CANCELLED") else "open")


class _ReaderRow(ReaderView, frozen=True, kw_only=True):
    instance: str
    stream: str
    is_waited: bool
    is_blocking: bool
    is_open: bool


class _Sums(msgspec.Struct, frozen=True, kw_only=True):
    component: str
    port: str
    segments: int = 0
    ends: int = 0
    rows: int = 0
    bytes: int = 0


_READERS = """SELECT c.instance AS instance, c.port AS stream, c.reader AS component, c.reader_port AS port,
                     c.seq AS read, c.error AS error, c.is_waited AS is_waited, c.is_blocking AS is_blocking,
                     CASE WHEN e.id IS NOT NULL AND e.completed_at IS NULL THEN 1 ELSE 0 END AS is_open
              FROM cursors c LEFT JOIN executions e ON e.id = c.execution
              WHERE c.run = :run ORDER BY c.instance, c.port, c.reader, c.reader_port"""
_BEGUN = ("RUNNING", "OK", "ERROR", "CANCELLED")
_SUMS = """SELECT instance AS component, port, CAST(count(*) - sum(is_eos) AS BIGINT) AS segments,
                  CAST(sum(is_eos) AS BIGINT) AS ends,
                  CAST(sum(rows) AS BIGINT) AS rows, CAST(sum(bytes) AS BIGINT) AS bytes
           FROM segments WHERE run = :run GROUP BY instance, port"""
