"""What reactors say to the ledger: consumed signals, health, demand, results and publications, lines of history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from pondage.ledger.commit import reactor_jobs, reactor_work
from pondage.ledger.database.driver import Transaction
from pondage.ledger.step import reactor_ponds
from pondage.ledger.tables import history, letters
from pondage.ledger.tables.reactors import Lease, LedgerRow, Place


def take_placed(tx: Transaction, lease: Lease, placed: Sequence[tuple[Place, LedgerRow]]) -> None:
    """Take in rows that were carried from a journal's file; those that came before are passed over."""
    statement = "SELECT carried_seq, carried_place FROM reactors WHERE actor = :actor /*lock*/"
    row = tx.row(statement, tuple[int, int], actor=lease.actor)
    if row is None:
        return
    known = Place(*row)
    take_rows(tx, lease, [each for place, each in placed if place > known])
    last = placed[-1][0]
    if last > known:
        tx.write(
            "UPDATE reactors SET carried_seq = :seq, carried_place = :place WHERE actor = :actor",
            seq=last.seq,
            place=last.place,
            actor=lease.actor,
        )


def take_rows(tx: Transaction, lease: Lease, rows: Iterable[LedgerRow]) -> None:
    """Take in what a reactor has to say, in order. What no ledger can take is a dead letter, and the next goes on."""
    for kind, payload in rows:
        try:
            _take(tx, lease, kind, payload)
        except msgspec.MsgspecError as error:  # what it says is read before anything is written
            letters.keep(
                tx,
                lease,
                letter=letters.said_name(kind, payload),
                error=f"{kind}: {error}",
                body=payload,
            )


def _take(tx: Transaction, lease: Lease, kind: str, payload: str) -> None:
    if kind == "consumed":
        tx.write("DELETE FROM signals WHERE id = :id AND actor = :actor", id=int(payload), actor=lease.actor)
    elif kind == "health":
        tx.write("UPDATE reactors SET health = :health WHERE actor = :actor", health=payload, actor=lease.actor)
    elif kind in reactor_ponds.KINDS:
        reactor_ponds.take(tx, lease, kind, payload)
    elif kind in reactor_work.KINDS:
        reactor_work.take(tx, lease, kind, payload)
    elif kind == reactor_jobs.KIND:
        reactor_jobs.take(tx, lease, payload)
    else:
        said = {"reactor": lease.name, **msgspec.json.decode(payload, type=dict[str, object])}
        history.record(tx, environment=lease.environment, kind=kind, payload=said)
