"""The streams of a run as people see them: how much each holds, and whether more will come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from pondage.kernel.control.shape import Virtual
from pondage.ledger.driver import Row, Transaction, number, text
from pondage.ledger.job_plans import JobVersion


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


def streams(
    tx: Transaction, run: int, version: JobVersion, states: Iterable[tuple[str, str]]
) -> tuple[StreamView, ...]:
    """Answer the streams of every component that has begun; `states` gives each instance and its state."""
    known = {(text(row, "instance"), text(row, "port")): row for row in tx.rows(_SUMS, run=run)}
    found = []
    for name, state in states:
        shape = version.shape_of(name)
        if state in _BEGUN and shape.virtual is Virtual.NONE and version.definition(shape).mode == "stream":
            found += [_stream(name, port, state, known) for port in version.writes(shape, is_fused=False)]
    return tuple(found)


def _stream(name: str, port: str, state: str, known: Mapping[tuple[str, str], Row]) -> StreamView:
    row = known.get((name, port))
    if row is None and state == "OK":
        return StreamView(component=name, port=port, state="deleted")  # whoever is OK has at least closed it
    segments, rows, size, ends = (0, 0, 0, 0) if row is None else (number(row, one) for one in _NUMBERS)
    told = "ended" if ends else "lost" if state == "ERROR" else "open"
    return StreamView(component=name, port=port, state=told, segments=segments, rows=rows, bytes=size)


_BEGUN = ("RUNNING", "OK", "ERROR")
_NUMBERS = ("segments", "total_rows", "total_bytes", "ends")
_SUMS = """SELECT instance, port, count(*) - sum(is_eos) AS segments, sum(is_eos) AS ends,
                  CAST(sum(rows) AS BIGINT) AS total_rows, CAST(sum(bytes) AS BIGINT) AS total_bytes
           FROM segments WHERE run = :run GROUP BY instance, port"""
