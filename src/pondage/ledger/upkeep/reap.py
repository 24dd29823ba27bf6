"""The reaper: what a dead process held is run again, and only a crash that is certainly its own counts against work."""

from __future__ import annotations

import msgspec

from pondage.define.project.durability import Durability
from pondage.ledger.database.driver import Transaction
from pondage.ledger.kinds.following import follow
from pondage.ledger.kinds.registry import KINDS
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions, processes, queues
from pondage.ledger.queue.executions import Held
from pondage.ledger.queue.processes import ProcessRow
from pondage.ledger.step import advance
from pondage.ledger.step.actor import put_event
from pondage.ledger.tables import reactors, read_leases
from pondage.work.failure import Failure


class Reaped(msgspec.Struct, frozen=True, kw_only=True):
    """A process that was declared dead, how much it held, and under which tokens."""

    process: str
    role: str
    executions: int
    reason: str
    tokens: tuple[str, ...] = ()


def reap_stale(ledger: Ledger, *, process: int | None) -> list[Reaped]:
    """Take back what silent processes hold. Every role calls this; a process never reaps itself.

    Silence for `reap_after_s` is enough. Silence for some beats is, too, when the server has seen the process's
    connection end. After the server itself was down, nobody is reaped for one threshold: nobody could beat.
    """
    durability = ledger.durability
    limit = int(durability.reap_after_s * 1_000_000)
    suspicious = int(durability.silent_after_s * 1_000_000)
    with ledger.reading() as tx:
        has_dead_readers = read_leases.has_dead(tx)
        silent = processes.stale(tx, older_than_us=suspicious, not_id=process)
        age = tx.server_age_us() if silent else None
        if age is not None and age < limit:
            return []
        now, boot = tx.beat, tx.boot
    if has_dead_readers:
        with ledger.transaction() as tx:
            read_leases.reap(tx)
    reaped: list[Reaped | None] = []
    for row in silent:
        if now - row.heartbeat_at > limit or row.boot != boot:
            _evict(ledger, row)
            reaped.append(reap_process(ledger, row, reason="silent for too long", reaper=process, is_certain=False))
        # Only a beat announces a connection: before the first one there is nothing that could have ended.
        elif row.heartbeat_at != row.registered_at and _is_gone(ledger, row):
            reaped.append(reap_process(ledger, row, reason="its connection ended", reaper=process, is_certain=False))
    return [each for each in reaped if each is not None]


def _evict(ledger: Ledger, row: ProcessRow) -> None:
    """Free what a silent process has locked. Nothing is done when it was reaped by now, or has beaten.

    Cut off inside a claim it holds its own row, inside a commit its execution and often an actor: whoever reaps it
    would wait for itself, and so would everybody who reports to that actor.
    """
    with ledger.transaction() as tx:
        still = tx.row(
            "SELECT id FROM processes WHERE id = :id AND dead_at IS NULL AND heartbeat_at = :heartbeat_at",
            id=row.id,
            heartbeat_at=row.heartbeat_at,
        )
        if still is not None:
            tx.evict(row.id)


def _is_gone(ledger: Ledger, row: ProcessRow) -> bool:
    with ledger.transaction() as tx:
        return tx.is_gone(row.id)


def reap_process(
    ledger: Ledger,
    dead: ProcessRow,
    *,
    reason: str,
    reaper: int | None = None,
    is_certain: bool = True,
    is_out_of_memory: bool = False,
) -> Reaped | None:
    """Declare a process dead and run again what it held. None when somebody else did, or when it beat meanwhile."""
    with ledger.transaction() as tx:
        if not processes.declare_dead(tx, dead, unless_beaten=not is_certain):
            return None
        reactors.free(tx, dead.id)
        held = executions.held_by(tx, dead.id)
        # Several pieces of work died with the process and one of them may have killed it: each is tried alone next.
        is_blamed = len(held) == 1
        said = f"{dead.role} {dead.public_id}: {reason}"
        for one in held:
            larger = queues.larger(tx, one.queue) if is_out_of_memory and is_blamed else None
            crashed(tx, ledger, one, reason=said, is_blamed=is_blamed, queue=larger)
        for actor in sorted({one.actor for one in held if one.actor is not None}):
            advance.report(tx, ledger, actor, process=reaper, event=None)
    tokens = tuple(one.token for one in held)
    return Reaped(process=dead.public_id, role=dead.role, executions=len(held), reason=reason, tokens=tokens)


def bury(ledger: Ledger, *, public_id: str, role: str, reason: str, reaper: int) -> Reaped | None:
    """Take back what a child held that has ended: its parent has seen it. None when it left nothing behind.

    After this its row is dead, whatever the child was doing when it ended: registering, beating, or claiming.
    """
    with ledger.transaction() as tx:
        processes.bar(tx, public_id=public_id, role=role)
        row = next((row for row in processes.alive(tx) if row.public_id == public_id), None)
    if row is None:
        return None
    _evict(ledger, row)
    return reap_process(ledger, row, reason=reason, reaper=reaper)


def abandon(ledger: Ledger, *, process: int, tokens: list[str]) -> int:
    """Give back claims of a living process that it does not know about, because their answer was lost; count them."""
    count = 0
    with ledger.transaction() as tx:
        for held in executions.held_by(tx, process):
            if held.token in tokens and executions.close(
                tx, execution=held.execution, token=held.token, outcome="abandoned", pool=held.pool
            ):
                is_followed = follow(
                    tx,
                    held,
                    dispatch=held.dispatch,
                    queue=held.queue,
                    priority=held.priority,
                    epoch=held.epoch,
                    is_isolated=held.is_isolated,
                )
                if not is_followed and held.actor is not None:
                    advance.report(tx, ledger, held.actor, process=process, event=None)
                count += 1
    return count


def crash(ledger: Ledger, *, process: int, token: str, reason: str) -> bool:
    """End one execution of a living process as crashed: its own program died. False means fenced."""
    with ledger.transaction() as tx:
        found = [one for one in executions.held_by(tx, process) if one.token == token]
        for one in found:
            crashed(tx, ledger, one, reason=reason, is_blamed=True)
            if one.actor is not None:
                advance.report(tx, ledger, one.actor, process=process, event=None)
    return bool(found)


def crashed(
    tx: Transaction, ledger: Ledger, held: Held, *, reason: str, is_blamed: bool, queue: int | None = None
) -> None:
    """Close an execution as crashed, and either run its dispatch again or, when the budget is spent, fail it.

    With `queue` it goes there, because that has the memory it lacked: which counts against nothing.
    """
    failure = Failure(code="CRASHED", message=f"the process died while this ran ({reason})")
    error = msgspec.json.encode(failure).decode()
    is_ours = executions.close(
        tx, execution=held.execution, token=held.token, outcome="crashed", pool=held.pool, error=error
    )
    if not is_ours:
        return
    is_last = executions.is_last(tx, held.dispatch)
    if queue is not None and not is_last:
        executions.move(tx, dispatch=held.dispatch, queue_id=queue, priority=held.priority, epoch=held.epoch)
        return
    crashes = held.crashes + int(is_blamed)
    tx.change("UPDATE dispatches SET crashes = :crashes WHERE id = :id", crashes=crashes, id=held.dispatch)
    # What may run once only is not tried again, whoever of those that died with the process was to blame.
    if not is_last and (crashes >= held.crash_budget or not KINDS[held.kind].survives_crashes):
        _exhausted(tx, held, max(1, crashes))
        return
    KINDS[held.kind].interrupted(tx, held, "its worker died")
    follow(
        tx,
        held,
        dispatch=held.dispatch,
        queue=held.queue,
        priority=held.priority,
        epoch=held.epoch,
        delay_us=crash_wait_us(ledger.durability, crashes),
        is_isolated=not is_blamed or held.is_isolated,
    )


def crash_wait_us(durability: Durability, crashes: int) -> int:
    """Answer how long work waits that took its process down so often: 0, then 2, 4 … seconds."""
    return int(max(0, crashes - 1) * durability.crash_delay_s * 1_000_000)


def _exhausted(tx: Transaction, held: Held, crashes: int) -> None:
    executions.close_dispatch(tx, held.dispatch, outcome="failed")
    if held.actor is None:
        return
    failure = Failure(
        code="CRASHES_EXHAUSTED",
        message=f"{held.node} took its process down {crashes} times, so it is not tried again",
    )
    event = KINDS[held.kind].failed(tx, held, failure)
    if event is not None:
        put_event(tx, actor=held.actor, event=event)
