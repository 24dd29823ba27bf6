"""Looking for work without writing: what an idle worker does again and again."""

from __future__ import annotations

import msgspec

from pondage.ledger import claims
from pondage.ledger.claims import Queue
from pondage.ledger.driver import number, text
from pondage.ledger.ledger import Ledger


class Poll(msgspec.Struct, frozen=True, kw_only=True):
    """The queues that a process may claim from, and whether one of them has something now."""

    queues: list[Queue]
    has_work: bool


def poll(ledger: Ledger, *, code: str, labels: frozenset[str], is_alone: bool) -> Poll:
    """Look once, in one transaction that only reads. Somebody else may be quicker: a claim asks again.

    Work of a pool that is full is not work now. Queries need no code.
    """
    with ledger.reading() as tx:
        rows = tx.rows(
            """SELECT q.id AS id, q.pool AS pool, q.labels AS labels,
                      q.pool = '' OR EXISTS (SELECT 1 FROM pool_slots s
                                             WHERE s.pool = q.pool AND s.execution IS NULL) AS is_open
               FROM queues q WHERE q.code IN (:code, '')""",
            code=code,
        )
        mine = [row for row in rows if labels.issuperset(text(row, "labels").split())]
        open_ids = [number(row, "id") for row in mine if row["is_open"]]
        has_work = bool(open_ids) and bool(claims.heads(tx, open_ids, is_alone=is_alone))
    return Poll(queues=[Queue(id=number(row, "id"), pool=text(row, "pool")) for row in mine], has_work=has_work)
