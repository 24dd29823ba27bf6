"""Who is alive: supervisors and workers, what each holds, and when it was last heard of."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes


class ProcessView(msgspec.Struct, frozen=True, kw_only=True):
    """A process that nobody has declared dead. `silent_us` is the time since its last heartbeat, null before a restart.

    One that `is_silent` has missed its heartbeats: it is taken back what it holds soon, and is counted on by nobody.
    """

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
    is_silent: bool = False


# In the order of the beats, which is that of the index over the living: dead rows are never touched.
_HELD = """SELECT process, count(*) AS held FROM executions
           WHERE completed_at IS NULL AND process IS NOT NULL GROUP BY process"""


def alive(tx: Transaction, ledger: Ledger) -> tuple[ProcessView, ...]:
    """Answer every process that nobody has declared dead, oldest first; those that are silent say so."""
    held = dict(tx.rows(_HELD, tuple[int, int]))
    limit = int(ledger.durability.silent_after_s * 1_000_000)
    found = []
    for row in processes.alive(tx):
        # Beats of another boot are of another clock: there is no distance to them, and nobody beats any more.
        silent = max(0, tx.beat - row.heartbeat_at) if row.boot == tx.boot else None
        found.append(
            of_row(
                ProcessView,
                row,
                id=row.public_id,
                busy=held.get(row.id, 0),
                labels=tuple(row.labels.split()),
                silent_us=silent,
                is_silent=silent is None or silent > limit,
            )
        )
    return tuple(found)


def heard_of(all_of_them: Iterable[ProcessView]) -> tuple[ProcessView, ...]:
    """Answer those that beat: the ones that work can be expected of."""
    return tuple(each for each in all_of_them if not each.is_silent)
