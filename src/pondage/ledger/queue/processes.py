"""Processes: who is alive, and taking back what the dead held."""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction


class ProcessRow(msgspec.Struct, frozen=True, kw_only=True):
    """A process that has registered itself. Its identity is the random public id of this start, never the pid."""

    id: int
    public_id: str
    machine: str
    boot: str
    pid: int
    pid_started: int
    role: str
    slots: int
    code: str
    labels: str
    state: str
    heartbeat_at: int
    registered_at: int


# Where rows are ordered by `+id`, SQLite goes by the index over the living and not through all that ever were.
_COLUMNS = (
    "id, public_id, machine, boot, pid, pid_started, role, slots, code, labels, state, heartbeat_at, registered_at"
)


def register(
    tx: Transaction,
    *,
    public_id: str,
    machine: str,
    pid: int,
    pid_started: int,
    role: str,
    slots: int = 0,
    code: str = "",
    labels: str = "",
) -> int:
    """Write the row of a process that starts, and answer its id."""
    process = tx.insert(
        """INSERT INTO processes (public_id, machine, boot, pid, pid_started, role, slots, code, labels,
                                  registered_at, heartbeat_at)
           VALUES (:public_id, :machine, :boot, :pid, :pid_started, :role, :slots, :code, :labels, :now, :beat)""",
        public_id=public_id,
        machine=machine,
        boot=tx.boot,
        pid=pid,
        pid_started=pid_started,
        role=role,
        slots=slots,
        code=code,
        labels=labels,
        beat=tx.beat,
    )
    tx.sign(process)
    return process


def beat(tx: Transaction, process: int, *, state: str = "") -> bool:
    """Say that a process is alive. False when it was declared dead: it must stop, its work is no longer its own."""
    tx.announce(process)
    return (
        tx.change(
            "UPDATE processes SET heartbeat_at = :beat, state = :state WHERE id = :id AND dead_at IS NULL",
            beat=tx.beat,
            state=state,
            id=process,
        )
        == 1
    )


def alive(tx: Transaction) -> list[ProcessRow]:
    """Answer every process that nobody has declared dead, oldest first."""
    return tx.rows(f"SELECT {_COLUMNS} FROM processes WHERE dead_at IS NULL ORDER BY +id", ProcessRow)


def stale(tx: Transaction, *, older_than_us: int, not_id: int | None) -> list[ProcessRow]:
    """Answer processes that have been silent too long, or that beat before the machine was restarted."""
    return tx.rows(
        f"""SELECT {_COLUMNS} FROM processes
            WHERE dead_at IS NULL AND id <> :own AND (heartbeat_at < :limit OR boot <> :boot)
            ORDER BY +id""",
        ProcessRow,
        own=not_id if not_id is not None else -1,
        limit=tx.beat - older_than_us,
        boot=tx.boot,
    )


def bar(tx: Transaction, *, public_id: str, role: str) -> None:
    """Keep a process that has ended from being registered: what it asked for may still be under way.

    A registration that is being committed is waited for; one that comes later finds its name taken, by a dead row.
    """
    tx.change(
        """INSERT INTO processes (public_id, machine, boot, pid, pid_started, role, state, registered_at, heartbeat_at,
                                  dead_at)
           VALUES (:public_id, '', :boot, 0, 0, :role, 'never registered', :now, :beat, :now)
           ON CONFLICT (public_id) DO NOTHING""",
        public_id=public_id,
        boot=tx.boot,
        role=role,
        beat=tx.beat,
    )


def leave(tx: Transaction, process: int) -> None:
    """Say good-bye for the process that calls this, which holds nothing any more."""
    for row in alive(tx):
        if row.id == process:
            declare_dead(tx, row, unless_beaten=False)


def declare_dead(tx: Transaction, process: ProcessRow, *, unless_beaten: bool = True) -> bool:
    """Mark a process dead. False when somebody else did, or when it beat since it was looked at.

    From this row's lock on, no claim of that process can slip in: a claim takes the row first. Whoever only suspects
    goes on when the row is held, and looks again later; whoever knows waits: a last beat may just be written.
    """
    lock = "/*exclusive skip*/" if unless_beaten else "/*exclusive*/"
    beaten = tx.row(f"SELECT heartbeat_at FROM processes WHERE id = :id AND dead_at IS NULL {lock}", int, id=process.id)
    if beaten is None or (unless_beaten and beaten != process.heartbeat_at):
        return False
    return tx.change("UPDATE processes SET dead_at = :now WHERE id = :id AND dead_at IS NULL", id=process.id) == 1


def is_alive(tx: Transaction, process: int) -> bool:
    """Answer whether the process may still claim; its row is held so that no reaper passes before the claim ends."""
    return tx.row("SELECT id FROM processes WHERE id = :id AND dead_at IS NULL /*share*/", id=process) is not None


def name_of(tx: Transaction, process: int) -> str:
    """Answer a process as people see it: role and public id."""
    return tx.row("SELECT role || ' ' || public_id FROM processes WHERE id = :id", str, id=process) or "?"
