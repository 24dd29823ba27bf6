"""Leases: timeouts and missing progress, judged by the database's clock, whatever the worker thinks or still can."""

from __future__ import annotations

import msgspec

from pondage.kernel.demand.events import Fail
from pondage.ledger import advance, executions
from pondage.ledger.driver import Transaction, number
from pondage.ledger.inputs import ripple_inputs
from pondage.ledger.ledger import Ledger
from pondage.ledger.work import Failure

EXPIRED = Failure(
    code="LEASE_EXPIRED",
    message="it neither finished in time nor made progress, and its worker did not end it",
)


def extend(tx: Transaction, *, execution: int, token: str, for_us: int) -> bool:
    """Say that an execution is well for so long. False when it is no longer ours."""
    changed = tx.change(
        """UPDATE executions SET healthy_until = :until
           WHERE id = :id AND token = :token AND completed_at IS NULL""",
        until=tx.now + for_us,
        id=execution,
        token=token,
    )
    return changed == 1


def expire(ledger: Ledger, *, process: int | None) -> int:
    """Fail every execution whose lease has run out, and answer how many there were.

    The worker sees by its next look that the execution is closed, cancels its Spark jobs, and is fenced if it commits.
    """
    with ledger.reading() as tx:
        if tx.row("SELECT id FROM executions WHERE completed_at IS NULL AND healthy_until <= :now LIMIT 1") is None:
            return 0
    with ledger.transaction() as tx:
        rows = tx.rows(
            """SELECT e.process AS process, e.id AS id FROM executions e
               WHERE e.completed_at IS NULL AND e.healthy_until <= :now ORDER BY e.id"""
        )
        doomed = {number(row, "id") for row in rows}
        holders = sorted({number(row, "process") for row in rows})
        held = [one for holder in holders for one in executions.held_by(tx, holder) if one.execution in doomed]
        error = msgspec.json.encode(EXPIRED).decode()
        for one in held:
            executions.close(tx, execution=one.execution, token=one.token, outcome="failed", pool=one.pool, error=error)
            executions.close_dispatch(tx, one.dispatch, outcome="failed")
            if one.actor is not None:
                event = Fail(pond=ripple_inputs(one.inputs).pond, ripple=one.node, attempt=one.number, error=error)
                advance.report(tx, ledger, one.actor, process=process, event=event)
    return len(held)
