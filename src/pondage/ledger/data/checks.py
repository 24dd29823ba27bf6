"""What became of the expectations of a table: every time that rows were judged, published or not."""

from __future__ import annotations

import msgspec

from pondage.ledger.data.inputs import ripple_inputs
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.work.snapshot import ExpectationResult, SnapshotContent


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """One write that was judged. `snapshot` is None when it was refused; then `rejected` are its rows, if still there.

    `inputs` are the snapshots that were read, by the name of the input.
    """

    run: int
    run_id: str
    run_number: int
    at: int
    results: tuple[ExpectationResult, ...]
    snapshot: int | None = None
    rejected: SnapshotContent | None = None
    inputs: dict[str, int | None] = {}


class _Judged(msgspec.Struct, frozen=True, kw_only=True):
    expectations: tuple[ExpectationResult, ...] = ()


class _Refused(msgspec.Struct, frozen=True, kw_only=True):
    results: tuple[ExpectationResult, ...] = ()
    rejected: SnapshotContent | None = None


class _WrittenRow(Judgement, frozen=True, kw_only=True):
    content: _Judged
    results: tuple[ExpectationResult, ...] = ()


class _FailedRow(msgspec.Struct, frozen=True, kw_only=True):
    run: int
    run_id: str
    run_number: int
    at: int
    error: _Refused
    inputs: str


_WRITTEN = """SELECT s.id AS snapshot, s.content AS content, s.inputs AS inputs, s.created_at AS at, r.id AS run,
                     r.public_id AS run_id, r.number AS run_number
              FROM snapshots s JOIN runs r ON r.id = s.run
              WHERE s.dataset = :dataset AND s.kind <> 'compact' ORDER BY s.id DESC LIMIT :most"""
# The newest dispatches only: a table that fails for ever must not make this a walk through its whole past.
_FAILED = """SELECT d.inputs AS inputs, e.error AS error, e.completed_at AS at, r.id AS run, r.public_id AS run_id,
                    r.number AS run_number
             FROM (SELECT id, run, inputs FROM dispatches
                   WHERE dataset = :dataset AND outcome = 'failed' ORDER BY id DESC LIMIT :most) d
             JOIN executions e ON e.dispatch = d.id JOIN runs r ON r.id = d.run
             WHERE e.outcome = 'failed' AND e.error LIKE '%"results":[%' ORDER BY e.id DESC"""


def judgements(tx: Transaction, *, pond: int, ripple: str, most: int) -> list[Judgement]:
    """Answer the last times that rows of a Ripple were judged, newest first. Reused data is not judged again."""
    dataset = tx.row("SELECT id FROM datasets WHERE pond = :pond AND ripple = :ripple", int, pond=pond, ripple=ripple)
    if dataset is None:
        return []
    found = [
        of_row(Judgement, row, results=row.content.expectations)
        for row in tx.rows(_WRITTEN, _WrittenRow, dataset=dataset, most=most)
    ]
    found += [
        of_row(
            Judgement,
            row,
            results=row.error.results,
            rejected=row.error.rejected,
            inputs=ripple_inputs(row.inputs).snapshots,
        )
        for row in tx.rows(_FAILED, _FailedRow, dataset=dataset, most=most)
    ]
    return sorted(found, key=lambda each: (each.at, each.run), reverse=True)[:most]
