"""How Ponds are called: by their names alone, and with the major version wherever more than one is deployed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pondage.ledger.database.driver import Transaction, numbered

PondNames = Callable[[str], str]
"""From the key of a Pond to how it is called."""

_AT_ONCE = 500
_SEVERAL = """SELECT name FROM ponds WHERE environment = :environment AND removed_at IS NULL AND name IN ({marks})
              GROUP BY name HAVING count(*) > 1"""


def pond_names(tx: Transaction, environment: int, keys: Iterable[str]) -> PondNames:
    """Answer how these Ponds of an environment are called."""
    several: set[str] = set()
    names = sorted({key.partition("@")[0] for key in keys})
    for start in range(0, len(names), _AT_ONCE):
        marks, values = numbered("name", names[start : start + _AT_ONCE])
        several.update(tx.rows(_SEVERAL.format(marks=marks), str, environment=environment, **values))

    def called(key: str) -> str:
        name = key.partition("@")[0]
        return key if name in several else name

    return called
