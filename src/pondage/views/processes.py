"""Who is alive: supervisors and workers, what each holds, and when it was last heard of."""

from __future__ import annotations

import msgspec

from pondage.ledger import processes
from pondage.ledger.driver import Transaction, number


class ProcessView(msgspec.Struct, frozen=True, kw_only=True):
    """A process that nobody has declared dead. `silent_us` is the time since its last heartbeat."""

    id: str
    role: str
    machine: str
    pid: int
    state: str
    slots: int
    busy: int
    code: str
    labels: tuple[str, ...]
    registered_at: int
    silent_us: int | None


def alive(tx: Transaction) -> tuple[ProcessView, ...]:
    """Answer every process that is thought to be alive, oldest first."""
    held = {
        number(row, "process"): number(row, "held")
        for row in tx.rows(
            """SELECT process, count(*) AS held FROM executions
               WHERE completed_at IS NULL AND process IS NOT NULL GROUP BY process"""
        )
    }
    return tuple(
        ProcessView(
            id=row.public_id,
            role=row.role,
            machine=row.machine,
            pid=row.pid,
            state=row.state,
            slots=row.slots,
            busy=held.get(row.id, 0),
            code=row.code,
            labels=tuple(row.labels.split()),
            registered_at=row.registered_at,
            # Beats of another boot are of another clock: there is no distance to them.
            silent_us=max(0, tx.beat - row.heartbeat_at) if row.boot == tx.boot else None,
        )
        for row in processes.alive(tx)
    )
