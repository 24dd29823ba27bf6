"""How Ponds are called: by their names alone, and with the major version wherever the name means another one, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pondage.ledger.database.driver import Transaction, numbered

PondNames = Callable[[str], str]
"""From the key of a Pond to how it is called."""

_AT_ONCE = 500
_MAJORS = (
    """SELECT name, major FROM ponds WHERE environment = :environment AND removed_at IS NULL AND name IN ({marks})"""
)


def pond_names(tx: Transaction, environment: int, keys: Iterable[str]) -> PondNames:
    """Answer how these Ponds of an environment are called."""
    majors: dict[str, set[str]] = {}
    names = sorted({key.partition("@")[0] for key in keys})
    for start in range(0, len(names), _AT_ONCE):
        marks, values = numbered("name", names[start : start + _AT_ONCE])
        for name, major in tx.rows(_MAJORS.format(marks=marks), tuple[str, int], environment=environment, **values):
            majors.setdefault(name, set()).add(f"{name}@{major}")

    def called(key: str) -> str:
        name = key.partition("@")[0]
        return name if majors.get(name, {key}) == {key} else key

    return called
