"""Looking for work without writing: what an idle worker does again and again."""

from __future__ import annotations

from typing import get_args

import msgspec

from pondage.ledger.database.driver import number
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import claims, queues
from pondage.ledger.queue.claims import Queue
from pondage.ledger.queue.queues import Offer, Role


class Poll(msgspec.Struct, frozen=True, kw_only=True):
    """The queues that a process may claim from, and whether one of them has something now."""

    queues: list[Queue]
    has_work: bool


def poll(ledger: Ledger, offer: Offer, *, is_alone: bool) -> Poll:
    """Look once, in one transaction that only reads. Somebody else may be quicker: a claim asks again.

    Work of a pool that is full is not work now. Queries need no code.
    """
    with ledger.reading() as tx:
        mine = queues.served(tx, offer)
        open_ids = [number(row, "id") for row in mine if row["is_open"]]
        has_work = bool(open_ids) and bool(claims.heads(tx, open_ids, is_alone=is_alone))
    return Poll(queues=[claims.as_queue(row) for row in mine], has_work=has_work)


def queues_for(ledger: Ledger, *, code: str, labels: frozenset[str] = frozenset()) -> list[Queue]:
    """Answer the queues that processes with this code and these labels may claim from, whatever their role."""
    with ledger.reading() as tx:
        return [
            claims.as_queue(row)
            for role in get_args(Role)
            for row in queues.served(tx, Offer(code=code, labels=labels, role=role))
        ]
