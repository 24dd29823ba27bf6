"""Types that Spark told of the outputs of components: kept for as long as runs are, so that nobody asks twice."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pondage.ledger.database.driver import Transaction, text
from pondage.ledger.tables import actors
from pondage.work.inference import Inferred

DAY_US = 86_400_000_000
_outputs = msgspec.json.Decoder(dict[str, str]).decode


def known(tx: Transaction, environment: str, keys: Sequence[str]) -> list[Inferred]:
    """Answer what is known of these questions."""
    identity = actors.environment(tx, environment)
    if identity is None:
        return []
    sql = "SELECT outputs FROM inferred_types WHERE environment = :environment AND key = :key"
    rows = {key: tx.row(sql, environment=identity, key=key) for key in keys}
    return [Inferred(key=key, outputs=_outputs(text(row, "outputs"))) for key, row in rows.items() if row is not None]


def keep(tx: Transaction, environment: int, answers: Sequence[Inferred], *, retention_days: float) -> None:
    """Keep the types that a worker found, with the end of its work. What failed may not fail again."""
    limit = tx.now - int(retention_days * DAY_US)
    tx.change("DELETE FROM inferred_types WHERE created_at < :limit", limit=limit)
    for one in answers:
        if one.outputs:
            tx.change(
                """INSERT INTO inferred_types (environment, key, outputs, created_at)
                   VALUES (:environment, :key, :outputs, :now)
                   ON CONFLICT (environment, key)
                   DO UPDATE SET outputs = excluded.outputs, created_at = excluded.created_at""",
                environment=environment,
                key=one.key,
                outputs=msgspec.json.encode(one.outputs).decode(),
            )
