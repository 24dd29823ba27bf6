"""What a table that is kept up to date goes on from: named when its work is dispatched, so that retention keeps it."""

from __future__ import annotations

from pondage.define.pond.definition import RippleDefinition
from pondage.ledger.data import manifests
from pondage.ledger.data.inputs import RippleInputs
from pondage.ledger.database.driver import Transaction
from pondage.ledger.step import bases


def going_on(
    tx: Transaction, ripple: RippleDefinition, inputs: RippleInputs, *, environment: int, run: int, pond: str
) -> tuple[int, ...]:
    """Answer its table, its old inputs and the batches that lead from those to the inputs of now."""
    base = bases.of_run(
        tx, pond_id=inputs.pond_id, pond=inputs.pond, node=ripple.name, run=run, environment=environment
    )
    if base is None or base.content.increment is None:
        return ()
    found = {base.snapshot: None}
    for read in ripple.tables:
        cursor = base.content.increment.cursors.get(read.table(pond))
        pin = inputs.snapshots.get(read.parameter)
        if cursor is not None and pin is not None:
            found |= dict.fromkeys((cursor, *manifests.between(tx, cursor=cursor, pin=pin)))
    return tuple(found)
