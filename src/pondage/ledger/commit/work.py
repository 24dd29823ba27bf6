"""The claim: a worker takes the best piece of work, in one transaction that also brings along everything it needs."""

from __future__ import annotations

from collections.abc import Callable

from pondage.ledger.database.driver import LedgerUnavailable, Transaction
from pondage.ledger.database.patience import persist
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.registry import KINDS
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import claims
from pondage.ledger.queue.claims import Claim, Queue


def never() -> bool:
    """Never give up."""
    return False


def claim_work(
    ledger: Ledger,
    *,
    process: int,
    queues: list[Queue],
    token: str,
    is_alone: bool,
    give_up: Callable[[], bool] = never,
) -> Work | None:
    """Claim the best piece of work, in one transaction, or None.

    When the database fails in the middle the token is looked up: a claim that was made is ours, and is answered.
    """
    try:
        with ledger.transaction() as tx:
            claim = claims.claim(tx, process=process, queues=queues, token=token, is_alone=is_alone)
            return None if claim is None else _work(tx, ledger, claim)
    except LedgerUnavailable:
        return persist(lambda: _resolved(ledger, token), give_up=give_up)


def _resolved(ledger: Ledger, token: str) -> Work | None:
    with ledger.reading() as tx:
        claim = claims.find(tx, token)
        return None if claim is None else _work(tx, ledger, claim)


def _work(tx: Transaction, ledger: Ledger, claim: Claim) -> Work:
    return Work(claim=claim, task=KINDS[claim.kind].load(tx, ledger, claim))
