"""Telling Ponds of their readers: those with a trigger that follows them, at most once a minute."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from pondage.define.values.names import PondKey
from pondage.kernel.demand.events import Read
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import advance
from pondage.ledger.step.actor import put_event
from pondage.ledger.tables import profiles
from pondage.ledger.tables.reads import MINUTE_US, ReadKey, Sum


def listen(ledger: Ledger) -> None:
    """Have the Ponds of a ledger hear of what the read log of this process writes. A second call changes nothing."""
    if not any(isinstance(each, partial) and each.func is _heard for each in ledger.reads.listeners):
        ledger.reads.listeners.append(partial(_heard, ledger))


def _heard(ledger: Ledger, tx: Transaction, sums: Mapping[ReadKey, Sum], _first: frozenset[int]) -> None:
    latest: dict[int, dict[PondKey, int]] = {}
    for key in sums:
        minutes = latest.setdefault(key.environment, {})
        minutes[key.pond] = max(key.minute, minutes.get(key.pond, key.minute))
    for environment, minutes in latest.items():
        moments = {pond: min(tx.now, (minute + 1) * MINUTE_US - 1) for pond, minute in minutes.items()}
        tell(tx, ledger, environment, moments)


def tell(tx: Transaction, ledger: Ledger, environment: int, moments: Mapping[PondKey, int]) -> None:
    """Tell Ponds when they were read last, and settle what follows. One that knows of that minute hears nothing."""
    actors: dict[int, None] = {}
    for pond in profiles.followed(tx, environment, list(moments)):
        at = moments[pond.key]
        # Whatever it does to a quarter hour, the hold or the rest, a read of the same minute has done.
        if at // MINUTE_US > pond.last_read // MINUTE_US:
            put_event(tx, actor=pond.actor, event=Read(pond=pond.key, at=at))
            actors[pond.actor] = None
    for actor in actors:
        advance.inline(tx, ledger, actor, process=None)
