"""The streams of a run as people see them: how much each holds, and whether more will come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from pondage.kernel.control.shape import Virtual
from pondage.ledger.database.driver import Row, Transaction, number, text, text_or_none
from pondage.ledger.tables.job_plans import JobVersion


class ReaderView(msgspec.Struct, frozen=True, kw_only=True):
    """An input that reads a stream: how many of its segments it is done with, and who waits for the other one now."""

    component: str
    port: str
    read: int
    waits: Literal["", "reader", "writer"] = ""
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
    known = {(text(row, "instance"), text(row, "port")): row for row in tx.rows(_SUMS, run=run)}
    readers: dict[tuple[str, str], list[ReaderView]] = {}
    for row in tx.rows(_READERS, run=run):
        readers.setdefault((text(row, "instance"), text(row, "port")), []).append(_reader(row))
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


def _reader(row: Row) -> ReaderView:
    return ReaderView(
        component=text(row, "reader"),
        port=text(row, "reader_port"),
        read=number(row, "seq"),
        # Only who works at it waits.
        waits="writer" if row["is_blocking"] else "reader" if row["is_waited"] and row["is_open"] else "",
        error=text_or_none(row, "error"),
    )


def _stream(name: str, port: str, state: str, known: Mapping[tuple[str, str], Row]) -> StreamView:
    row = known.get((name, port))
    if row is None and state == "OK":
        return StreamView(component=name, port=port, state="deleted")  # whoever is OK has at least closed it
    segments, rows, size, ends = (0, 0, 0, 0) if row is None else (number(row, one) for one in _NUMBERS)
    told = "ended" if ends else "lost" if state == "ERROR" else "open"
    return StreamView(component=name, port=port, state=told, segments=segments, rows=rows, bytes=size)


_READERS = """SELECT c.instance AS instance, c.port AS port, c.reader AS reader, c.reader_port AS reader_port,
                     c.seq AS seq, c.error AS error, c.is_waited AS is_waited, c.is_blocking AS is_blocking,
                     CASE WHEN e.id IS NOT NULL AND e.completed_at IS NULL THEN 1 ELSE 0 END AS is_open
              FROM cursors c LEFT JOIN executions e ON e.id = c.execution
              WHERE c.run = :run ORDER BY c.instance, c.port, c.reader, c.reader_port"""
_BEGUN = ("RUNNING", "OK", "ERROR")
_NUMBERS = ("segments", "total_rows", "total_bytes", "ends")
_SUMS = """SELECT instance, port, CAST(count(*) - sum(is_eos) AS BIGINT) AS segments,
                  CAST(sum(is_eos) AS BIGINT) AS ends,
                  CAST(sum(rows) AS BIGINT) AS total_rows, CAST(sum(bytes) AS BIGINT) AS total_bytes
           FROM segments WHERE run = :run GROUP BY instance, port"""
