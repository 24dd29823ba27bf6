"""Leases: timeouts and missing progress, judged by the database's clock, whatever the worker thinks or still can."""

from __future__ import annotations

from typing import Literal

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.kinds.registry import KINDS
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions, processes
from pondage.ledger.queue.executions import Held
from pondage.ledger.step import advance
from pondage.ledger.upkeep import reap
from pondage.work.failure import Failure

Reason = Literal["TIMEOUT", "NO_PROGRESS", "HEALTH"]

BATCH = 100

_WORDS = {
    "TIMEOUT": "{node} ran longer than its timeout{limit}, and its worker ({worker}) did not end it",
    "NO_PROGRESS": "no task of {node} finished within its progress lease; it ran in {worker}",
}


def extend(tx: Transaction, *, execution: int, token: str, for_us: int | None, reason: Reason = "TIMEOUT") -> bool:
    """Say that an execution is well for so long, or, with None, for as long as its process lives.

    `reason` is what it will have failed of when nobody extends it. False when it is no longer ours.
    """
    changed = tx.change(
        """UPDATE executions SET healthy_until = :until, lease = :lease
           WHERE id = :id AND token = :token AND completed_at IS NULL""",
        until=None if for_us is None else tx.now + for_us,
        lease=None if for_us is None else reason,
        id=execution,
        token=token,
    )
    return changed == 1


def next_expiry(tx: Transaction) -> int | None:
    """Answer when the next lease runs out, None when none is held: one probe of an index of open leases."""
    return tx.row(
        """SELECT healthy_until AS at FROM executions WHERE completed_at IS NULL AND healthy_until IS NOT NULL
           ORDER BY healthy_until LIMIT 1""",
        int,
    )


class _Expired(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    process: int
    lease: str | None
    timeout_s: float | None


def expire(ledger: Ledger, *, process: int | None) -> int:
    """Fail every execution whose lease has run out, and answer how many there were.

    The worker sees by its next look that the execution is closed, cancels its Spark jobs, and is fenced if it commits.
    """
    with ledger.reading() as tx:
        at = next_expiry(tx)
        if at is None or at > tx.now:
            return 0
    expired = 0
    with ledger.transaction() as tx:
        # Locked where they are judged: one that is extended or closed at this moment is passed over.
        rows = tx.rows(
            """SELECT e.id AS id, e.process AS process, e.lease AS lease, d.timeout_s AS timeout_s
               FROM executions e JOIN dispatches d ON d.id = e.dispatch
               WHERE e.completed_at IS NULL AND e.healthy_until <= :now
               ORDER BY e.healthy_until LIMIT :batch /*lock skip of e*/""",
            _Expired,
            batch=BATCH,
        )
        doomed = {row.id: row for row in rows}
        for holder in sorted({row.process for row in rows}):
            worker = processes.name_of(tx, holder)
            for one in executions.held_by(tx, holder):
                if one.execution in doomed and doomed[one.execution].lease == "HEALTH":
                    expired += _crash(tx, ledger, one, process=process)
                elif one.execution in doomed:
                    expired += _fail(tx, ledger, one, _failure(doomed[one.execution], one, worker), process=process)
    return expired


def _crash(tx: Transaction, ledger: Ledger, one: Held, *, process: int | None) -> bool:
    """End an external program's execution as crashed: it said itself that it is dead when it says no more."""
    reap.crashed(tx, ledger, one, reason="its program gave no sign of health any more", is_blamed=True)
    if one.actor is not None:
        advance.report(tx, ledger, one.actor, process=process, event=None)
    return True


def _failure(row: _Expired, held: Held, worker: str) -> Failure:
    code = row.lease or "TIMEOUT"
    limit = "" if row.timeout_s is None else f" of {row.timeout_s:g} s"
    return Failure(code=code, message=_WORDS[code].format(node=held.node, limit=limit, worker=worker))


def _fail(tx: Transaction, ledger: Ledger, one: Held, failure: Failure, *, process: int | None) -> bool:
    error = msgspec.json.encode(failure).decode()
    is_closed = executions.close(
        tx, execution=one.execution, token=one.token, outcome="failed", pool=one.pool, error=error
    )
    if is_closed:
        executions.close_dispatch(tx, one.dispatch, outcome="failed")
        if one.actor is not None:
            event = KINDS[one.kind].failed(tx, one, failure)
            advance.report(tx, ledger, one.actor, process=process, event=event)
    return is_closed
