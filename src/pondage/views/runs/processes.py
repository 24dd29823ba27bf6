"""Who is alive: supervisors and workers, what each holds, and when it was last heard of."""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction, number, text


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
_ALIVE = """SELECT id, public_id, machine, boot, pid, role, slots, code, labels, state, heartbeat_at, registered_at
            FROM processes WHERE dead_at IS NULL ORDER BY heartbeat_at"""

_HELD = """SELECT process, count(*) AS held FROM executions
           WHERE completed_at IS NULL AND process IS NOT NULL GROUP BY process"""


def alive(tx: Transaction) -> tuple[ProcessView, ...]:
    """Answer every process that is thought to be alive, oldest first."""
    held = dict(tx.rows(_HELD, tuple[int, int]))
    rows = sorted(tx.rows(_ALIVE), key=lambda row: number(row, "id"))
    return tuple(
        ProcessView(
            id=text(row, "public_id"),
            role=text(row, "role"),
            machine=text(row, "machine"),
            pid=number(row, "pid"),
            state=text(row, "state"),
            slots=number(row, "slots"),
            busy=held.get(number(row, "id"), 0),
            code=text(row, "code"),
            labels=tuple(text(row, "labels").split()),
            registered_at=number(row, "registered_at"),
            # Beats of another boot are of another clock: there is no distance to them.
            silent_us=max(0, tx.beat - number(row, "heartbeat_at")) if text(row, "boot") == tx.boot else None,
        )
        for row in rows
    )
