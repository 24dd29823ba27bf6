"""Who is alive: supervisors and workers, what each holds, and when it was last heard of."""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.ledger.queue import processes


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


# In the order of the beats, which is that of the index over the living: dead rows are never touched.
_HELD = """SELECT process, count(*) AS held FROM executions
           WHERE completed_at IS NULL AND process IS NOT NULL GROUP BY process"""


def alive(tx: Transaction) -> tuple[ProcessView, ...]:
    """Answer every process that is thought to be alive, oldest first."""
    held = dict(tx.rows(_HELD, tuple[int, int]))
    return tuple(
        of_row(
            ProcessView,
            row,
            id=row.public_id,
            busy=held.get(row.id, 0),
            labels=tuple(row.labels.split()),
            # Beats of another boot are of another clock: there is no distance to them.
            silent_us=max(0, tx.beat - row.heartbeat_at) if row.boot == tx.boot else None,
        )
        for row in processes.alive(tx)
    )
