"""What can be fetched of a flow: the table of an output when it is there, or the segments of a stream as they come."""

from __future__ import annotations

import msgspec

from pondage.define.job.flow import Extract
from pondage.define.types.segment import Segment
from pondage.errors import LedgerError, NotFound
from pondage.kernel.control.state import ComponentRow, State
from pondage.ledger.data import run_tables, segments
from pondage.ledger.data.segments import Stream
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import job_runs
from pondage.ledger.tables.job_runs import JobRunRow, RunRows
from pondage.work.snapshot import SnapshotContent


class Extractable(msgspec.Struct, frozen=True, kw_only=True):
    """An extract of a flow, and what its output is."""

    run: JobRunRow
    name: str
    extract: Extract
    type: str
    rows: str = ""
    """Of a stream: its type with every name put in."""


class Pieces(msgspec.Struct, frozen=True, kw_only=True):
    """What there is behind the pieces that were seen already; `is_complete`: nothing comes any more."""

    found: tuple[SnapshotContent | Segment, ...] = ()
    is_complete: bool = False


def find(tx: Transaction, ledger: Ledger, environment: str, given: str, name: str) -> Extractable:
    """Answer an extract of a flow by its name; raises `NotFound`, and `LedgerError` when its time is over."""
    run = job_runs.find_flow(tx, environment, given)
    version = ledger.job(tx, run.definition)
    facts = version.stored.flow
    extract = None if facts is None else facts.extracts.get(name)
    if facts is None or extract is None:
        known = ", ".join(facts.extracts) if facts is not None and facts.extracts else "nothing"
        raise NotFound(f"flow {run.public_id} has no extract {name!r}; it has {known}", code="NO_SUCH_EXTRACT")
    if run.ended_at is not None and run.ended_at + extract.kept_us < tx.now:
        raise gone(run, name, extract)
    rows = version.shape_of(extract.node).gives.get(extract.port, "")
    return Extractable(run=run, name=name, extract=extract, type=facts.types.get(name, ""), rows=rows)


def pieces(tx: Transaction, one: Extractable, *, seen: int) -> Pieces:
    """Answer what came since; raises `LedgerError` when the rest will never come, or has gone."""
    node, port = one.extract.node, one.extract.port
    table = run_tables.find(tx, one.run.id, node, port)
    if table is not None:
        if table.is_marked:
            raise gone(one.run, one.name, one.extract)
        return Pieces(found=(table.content,) if seen == 0 else (), is_complete=True)
    entries = segments.read(tx, Stream(one.run.id, node, port))
    if entries and entries[-1].is_eos:
        return Pieces(found=tuple(entries[seen:-1]), is_complete=True)
    if not entries[seen:]:
        _require_hope(tx, one)
    return Pieces(found=tuple(entries[seen:]))


def _require_hope(tx: Transaction, one: Extractable) -> None:
    """Raise when whoever should give more has ended."""
    node = one.extract.node
    row = RunRows(tx, one.run.actor).get("component", node)
    state = row.state if isinstance(row, ComponentRow) else State.WAIT
    over = tx.row("SELECT state FROM job_runs WHERE id = :id AND ended_at IS NOT NULL", id=one.run.id)
    if state is State.OK:
        raise gone(one.run, one.name, one.extract)
    if state.is_final or over is not None:
        told = state.value if state.is_final else f"{state.value}, and the flow is over"
        raise LedgerError(
            f"{one.name} of flow {one.run.public_id} will not come: {node} is {told}",
            hint=f"pondage flow show {one.run.public_id}",
            code="EXTRACT_LOST",
        )


def gone(run: JobRunRow, name: str, extract: Extract, *, why: str = "") -> LedgerError:
    """Answer the error for what was there and is not any more."""
    return LedgerError(
        f"{name} of flow {run.public_id} has gone: {why or f'it is kept for {extract.retention} after the end'}",
        hint="submit the tree again",
        code="EXTRACT_GONE",
    )
