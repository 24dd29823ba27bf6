"""Advancing an actor, in one transaction: lock, drain all due signals, step, write what changed, delete the signals."""

from __future__ import annotations

import traceback
from contextlib import nullcontext

import msgspec

from pondage.ledger.database.driver import LedgerUnavailable, Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import job_schedules
from pondage.ledger.step.actor import ActorKind, Happening, Settled, put_event
from pondage.ledger.step.backfill_actor import BackfillActor
from pondage.ledger.step.catchment import CatchmentActor
from pondage.ledger.step.job_advance import RunActor
from pondage.ledger.step.reactor_actor import ReactorActor
from pondage.ledger.tables import actors, schedules
from pondage.ledger.tables.actors import ActorRow, SignalRow
from pondage.tracing import span

ACTORS: dict[str, ActorKind] = {
    kind.name: kind for kind in (CatchmentActor(), RunActor(), ReactorActor(), BackfillActor())
}
"""All kinds of actors by their names."""


def inline(
    tx: Transaction,
    ledger: Ledger,
    actor: int,
    *,
    process: int | None,
    event: Happening | None = None,
    is_undone_alone: bool = True,
) -> bool:
    """Advance an actor inside the caller's transaction. False when somebody else holds it, or it is not done yet.

    `event` is what the caller has to report. When the actor steps now it need not become a row; when it cannot, or
    when the step raises (it is undone alone, the caller's own changes stand), the event waits as a signal. Whoever
    can do everything again may have a step that is not undone alone: what it raises goes on, and it costs less.
    """
    # Never waiting: the caller holds rows of its own (an execution, a snapshot), and whoever has the actor may be about
    # to ask for just those. What is reported becomes a signal instead, and the caller advances once it holds nothing.
    row = actors.lock(tx, actor, is_waiting=False)
    if (
        row is not None
        and row.halted is None
        and _advance(tx, ledger, row, process=process, event=event, is_undone_alone=is_undone_alone)
    ):
        return not ACTORS[row.kind].is_open(tx, actor)
    if event is not None:
        # Written in the caller's transaction: the report and what it is about are durable together, or neither is.
        put_event(tx, actor=actor, event=event)
    # A step that raised is counted, not lost: trying it at once again would only raise again.
    return row is not None


def report(
    tx: Transaction,
    ledger: Ledger,
    actor: int,
    *,
    process: int | None,
    event: Happening | None,
    is_undone_alone: bool = True,
) -> bool:
    """Hand a worker's report to its actor and advance it. False when that must be tried again after the commit."""
    if ledger.is_advancing:
        return inline(tx, ledger, actor, process=process, event=event, is_undone_alone=is_undone_alone)
    if event is not None:
        put_event(tx, actor=actor, event=event)
    return True


def waiting(ledger: Ledger, actor: int, *, process: int | None) -> None:
    """Advance an actor in a transaction of its own, waiting for whoever holds it; a big fan-out to its end."""
    while True:
        with ledger.transaction() as tx:
            # This lock comes first in its transaction, so waiting for it cannot close a circle.
            row = actors.lock(tx, actor, is_waiting=True)
            is_stepped = row is not None and _advance(tx, ledger, row, process=process)
            is_open = row is not None and row.halted is None and ACTORS[row.kind].is_open(tx, actor)
        if not is_stepped or not is_open:
            return


def advance_due(ledger: Ledger, *, process: int | None) -> int:
    """Fire due schedules and advance every actor for which something is due; answer how many there were.

    This is the timer, and what finds reports that nobody carried on. It reads first: an idle ledger is not written.
    """
    with ledger.reading() as tx:
        due = actors.due_actors(tx)
        has_schedules = schedules.is_due(tx)
    if has_schedules:
        with ledger.transaction() as tx:
            due = sorted({*due, *schedules.fire(tx), *job_schedules.fire(tx, ledger)})
    for actor in due:
        # A transaction for each, and none waits: timers run in every process, and whoever holds an actor reads what is
        # due for it. What he came too early for is found by the next look.
        with ledger.transaction() as tx:
            row = actors.lock(tx, actor, is_waiting=False)
            if row is not None:
                _advance(tx, ledger, row, process=process)
    return len(due)


def next_due(tx: Transaction) -> int | None:
    """Answer the time at which something will be due, in microseconds, or None."""
    times = [time for time in (actors.next_due(tx), schedules.next_due(tx)) if time is not None]
    return min(times, default=None)


def next_in(ledger: Ledger) -> float | None:
    """Answer in how many seconds something will be due, not above 0 when it is now, None when nothing ever will."""
    with ledger.reading() as tx:
        at = next_due(tx)
        return None if at is None else (at - tx.now) / 1e6


def _advance(
    tx: Transaction,
    ledger: Ledger,
    actor: ActorRow,
    *,
    process: int | None,
    event: Happening | None = None,
    is_undone_alone: bool = True,
) -> bool:
    """Make one step of everything that is due. False when it raised; it is undone then, and counted."""
    signals = [] if actor.halted is not None else actor.due
    if not signals and event is None:
        return True
    try:
        undoing = tx.savepoint() if is_undone_alone else nullcontext()
        with span("advance", actor=actor.id, kind=actor.kind, signals=len(signals)), undoing:
            kind = ACTORS[actor.kind]
            signals, event = kind.taken_in(tx, actor, signals, event)
            settled, told = kind.settle(tx, ledger, actor, signals, event)
            # Only these: what came in since the lock was read has another id, is no part of this step, and stays.
            actors.delete_signals(tx, [signal.id for signal in signals])
            _write_advancement(tx, actor.id, process, settled)
            actors.stepped(tx, actor.id)
    except LedgerUnavailable:
        # Whether it was written is not known, and no savepoint helps: the whole transaction is decided by its owner.
        raise
    except Exception as error:
        if not is_undone_alone:
            raise
        # The step is undone, its signals stay, and the error is counted; nothing of the actor is lost.
        reason = f"{type(error).__name__}: {error}"
        _write_failure(tx, actor.id, process, signals, reason + "\n" + traceback.format_exc())
        actors.count_error(tx, actor.id, halt_after=ledger.durability.advance_retries, reason=reason)
        return False
    for other in told if ledger.is_advancing else ():
        # A Ripple and the job that is its body tell each other; whom somebody else holds finds it as a signal.
        inline(tx, ledger, other, process=process, is_undone_alone=is_undone_alone)
    return True


def _write_advancement(tx: Transaction, actor: int, process: int | None, settled: Settled) -> None:
    tx.write(
        """INSERT INTO advancements (actor, at, process, signals, touched, effects)
           VALUES (:actor, :now, :process, :signals, :touched, :effects)""",
        actor=actor,
        process=process,
        signals=msgspec.json.encode(settled.rounds).decode(),
        touched=msgspec.json.encode(settled.touched).decode(),
        effects=msgspec.json.encode(settled.effects).decode(),
    )


def _write_failure(tx: Transaction, actor: int, process: int | None, signals: list[SignalRow], error: str) -> None:
    tx.write(
        """INSERT INTO advancements (actor, at, process, signals, touched, effects, error)
           VALUES (:actor, :now, :process, :signals, '[]', '[]', :error)""",
        actor=actor,
        process=process,
        signals="[" + ",".join(signal.payload for signal in signals) + "]",
        error=error,
    )
