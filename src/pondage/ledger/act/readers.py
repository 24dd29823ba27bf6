"""Telling Ponds of their readers, and asking them what reading asks.

Those with a trigger that follows its readers hear of them at most once a minute, aside from the answer; of one that
rests, and where the author says that reading asks, they hear in the moment of the question.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.define.values.names import PondKey
from pondage.kernel.demand import PondState, pace
from pondage.kernel.demand.events import Event, Pulse, Read, Tap
from pondage.kernel.demand.state import decode_state
from pondage.kernel.demand.work import Pond
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import advance
from pondage.ledger.step.actor import put_event
from pondage.ledger.tables import actors, awaited, profiles
from pondage.ledger.tables.actors import PondRow
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
    told: dict[int, None] = {}
    for pond in profiles.followed(tx, environment, list(moments)):
        at = moments[pond.key]
        # Whatever it does to a quarter hour, the hold or the rest, a read of the same minute has done.
        if at // MINUTE_US > pond.last_read // MINUTE_US:
            put_event(tx, actor=pond.actor, event=Read(pond=pond.key, at=at))
            told[pond.actor] = None
    for actor in told:
        advance.inline(tx, ledger, actor, process=None)


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """A reader may wait until the Pond is as fresh as `moment`, for `wait_us` at most."""

    key: PondKey
    pond: int
    moment: int
    wait_us: int


def ask(tx: Transaction, ledger: Ledger, environment: int, runs: Mapping[PondKey, int]) -> list[Wait]:
    """Ask of Ponds what reading these Runs of them asks, settle it, and answer what the reader may wait for.

    A Pond of an environment above that is only shown here is asked for nothing.
    """
    followed = {each.key for each in profiles.followed(tx, environment, list(runs))}
    found: list[Wait] = []
    for key, run in runs.items():
        row = actors.pond(tx, environment, key)
        definition = None if row is None else ledger.definition(tx, row.definition)
        if row is None or definition is None or definition.borrowed:
            continue
        wait = _woken(tx, ledger, row) if key in followed else _asked(tx, ledger, row, definition, run)
        if wait is not None:
            patience = definition.reading.wait_us
            wait_us = _twice_the_lead(tx, ledger, row) if patience is None else patience
            if wait_us > 0:
                found.append(Wait(key=key, pond=row.id, moment=wait, wait_us=wait_us))
    return found


def is_asking(tx: Transaction, ledger: Ledger, environment: int, runs: Mapping[PondKey, int]) -> bool:
    """Answer whether reading these Ponds may ask for anything: most ask for nothing, and cost no transaction."""
    if profiles.followed(tx, environment, list(runs)):
        return True
    rows = [actors.pond(tx, environment, key) for key in runs]
    return any(row is not None and ledger.definition(tx, row.definition).reading.asks != "none" for row in rows)


def _woken(tx: Transaction, ledger: Ledger, row: PondRow) -> int | None:
    """End the rest of a Pond's triggers; answer the moment whose data is on its way to whoever reads."""
    state = decode_state(row.state)
    if any(each.is_resting and name not in state.paused for name, each in state.following.items()):
        _tell(tx, ledger, row, Read(pond=row.key, at=tx.now))
        return tx.now
    return max((each.woken for each in state.following.values() if each.woken > state.end_f), default=None)


def _asked(tx: Transaction, ledger: Ledger, row: PondRow, definition: PondDefinition, run: int) -> int | None:
    """Ask what the author says that reading asks; answer the moment whose data the reader wants, if he does."""
    match definition.reading.asks:
        case "tap" if awaited.first_of(tx, row.id, run):
            _tell(tx, ledger, row, Tap(pond=row.key))
        case "pulse":
            _tell(tx, ledger, row, Pulse(pond=row.key, at=tx.now))
            return tx.now
    return None


def _tell(tx: Transaction, ledger: Ledger, row: PondRow, event: Event) -> None:
    put_event(tx, actor=row.actor, event=event)
    advance.inline(tx, ledger, row.actor, process=None)


def _twice_the_lead(tx: Transaction, ledger: Ledger, row: PondRow) -> int:
    state: PondState = decode_state(row.state)
    return 2 * pace.lead(Pond(state, ledger.shape(tx, row.definition)))
