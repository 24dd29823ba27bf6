"""What a major version of a Pond has promised its readers: the schemas of what it has published, here or above."""

from __future__ import annotations

from pondage.define.pond.definition import PondDefinition
from pondage.ledger.data import snapshots
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors, environments
from pondage.work.snapshot import Batch


def promised_above(tx: Transaction, environment: int, key: str, ripple: str) -> str | None:
    """Answer the schema that the nearest environment above shows of a table; None when none of them shows it.

    It is the contract of whoever has published nothing here yet: what is made here is meant to go there.
    """
    for level in environments.chain(tx, environment)[1:]:
        found = promised(tx, level.id, key).get(ripple)
        if found is not None:
            return found
    return None


def promised(tx: Transaction, environment: int, key: str) -> dict[str, str]:
    """Answer the schemas that readers of an environment see of a Pond that is its own, by Ripple."""
    row = actors.pond(tx, environment, key)
    run = None if row is None or row.borrows is not None else snapshots.current_run(tx, row.id)
    given = {} if run is None else snapshots.outputs(tx, run)
    loaded = snapshots.load(tx, [output.snapshot for output in given.values()])
    return {name: loaded[output.snapshot].content.schema for name, output in given.items()}


def batch_of(tx: Transaction, ledger: Ledger, definition: PondDefinition, pond: int, ripple: str) -> Batch | None:
    """Answer what is known of the batch that a Ripple will write; None when its rows are the whole table.

    A batch of the same code may be late, of an older schema; by other code, columns that are missing were taken away.
    """
    if definition.mode != "append":
        return None
    run = snapshots.current_run(tx, pond)
    made_by = None if run is None else tx.row("SELECT definition FROM runs WHERE id = :id", int, id=run)
    before = () if made_by is None else ledger.definition(tx, made_by).ripples
    now = definition.ripple(ripple).digest
    return Batch(is_same_code=any(each.name == ripple and each.digest == now for each in before))
