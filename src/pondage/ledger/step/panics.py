"""Panics: why nodes of a run failed, as their `panic` ports give it. Nothing is stored twice: the rows tell."""

from __future__ import annotations

import msgspec

from pondage.kernel.control.state import ComponentRow, State
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import job_runs
from pondage.ledger.tables.job_runs import JobRunRow, RunRows
from pondage.work.component import Panic


class _Told(msgspec.Struct):
    trace: str | None = None
    place: str | None = None


_told = msgspec.json.Decoder(_Told)

_LAST = """SELECT e.error AS error, d.closed_at AS closed_at FROM dispatches d LEFT JOIN executions e
                  ON e.id = (SELECT max(x.id) FROM executions x WHERE x.dispatch = d.id)
           WHERE d.kind = 'component' AND d.actor = :actor AND d.node = :node ORDER BY d.id DESC LIMIT 1"""


def of_instance(tx: Transaction, run: JobRunRow, instance: str) -> Panic:
    """Answer why an instance failed; it has."""
    row = RunRows(tx, run.actor).get("component", instance)
    assert isinstance(row, ComponentRow), f"{instance} of {run.public_id} has no row"
    return _panic(tx, run, instance, row)


def of_run(tx: Transaction, run: JobRunRow) -> list[Panic]:
    """Answer every panic of a run, the first one first."""
    rows = job_runs.machine_rows(tx, run.actor, "component")
    found = [
        _panic(tx, run, instance, row)
        for instance, row in rows.items()
        if isinstance(row, ComponentRow) and row.state is State.ERROR
    ]
    return sorted(found, key=lambda panic: (panic.at, panic.node))


def _panic(tx: Transaction, run: JobRunRow, instance: str, row: ComponentRow) -> Panic:
    last = tx.row(_LAST, tuple[_Told | None, int | None], actor=run.actor, node=instance)
    told, closed_at = last or (None, None)
    told = told or _Told()
    return Panic(
        node=instance,
        attempt=row.attempt,
        code=row.code,
        message=row.cause,
        # The error of a fused group is that of the member that failed, and only its own.
        detail=(told.trace or "") if told.place in (None, instance) else "",
        at=closed_at or 0,
    )
