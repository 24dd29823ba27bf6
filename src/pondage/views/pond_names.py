"""How Ponds are called: by their names alone, and with the major version wherever more than one is deployed."""

from __future__ import annotations

from collections.abc import Callable

from pondage.define.values.names import split_key
from pondage.ledger.database.driver import Transaction

PondNames = Callable[[str], str]
"""From the key of a Pond to how it is called."""


def pond_names(tx: Transaction, environment: int) -> PondNames:
    """Answer how the Ponds of an environment are called."""
    several = frozenset(
        tx.rows(
            """SELECT name FROM ponds WHERE environment = :environment AND removed_at IS NULL
               GROUP BY name HAVING count(*) > 1""",
            str,
            environment=environment,
        )
    )

    def called(key: str) -> str:
        name, _ = split_key(key) if "@" in key else (key, 0)
        return key if name in several else name

    return called
