"""What follows an execution that ended without an end of its dispatch: the next one, or nothing any more."""

from __future__ import annotations

from pondage.ledger.database.driver import Transaction
from pondage.ledger.kinds.kind import Dispatched
from pondage.ledger.kinds.registry import KINDS
from pondage.ledger.queue import executions
from pondage.ledger.step.actor import put_event


def follow(
    tx: Transaction,
    over: Dispatched,
    *,
    dispatch: int,
    queue: int,
    priority: int,
    epoch: int,
    is_isolated: bool,
    delay_us: int = 0,
) -> bool:
    """Make the next execution of a dispatch claimable. False when its run was killed: then its machine is told.

    In the transaction that closed the one before; whoever gets False has the actor advanced.
    """
    if not executions.is_last(tx, dispatch):
        executions.enqueue(
            tx,
            dispatch=dispatch,
            queue_id=queue,
            priority=priority,
            epoch=epoch,
            is_isolated=is_isolated,
            delay_us=delay_us,
        )
        return True
    executions.close_dispatch(tx, dispatch, outcome="cancelled")
    event = KINDS[over.kind].left(over)
    if event is not None and over.actor is not None:
        put_event(tx, actor=over.actor, event=event)
    return False
