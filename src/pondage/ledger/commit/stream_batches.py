"""A worker's transactions while Spark reads a stream for a reactor: its begin, and one for each micro-batch."""

from __future__ import annotations

from collections.abc import Callable

from pondage.ledger.commit.work import never
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.patience import persist
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.stream import StreamTask
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.claims import Claim
from pondage.ledger.tables import reactors


def begin_stream(ledger: Ledger, work: Work, *, give_up: Callable[[], bool] = never) -> bool:
    """Say that Spark reads a stream now. False means fenced."""
    claim, task = work.claim, work.given(StreamTask)

    def act() -> bool:
        with ledger.transaction() as tx:
            is_ours = _is_held(tx, claim)
            if is_ours:
                assert claim.actor is not None
                reactors.signal(tx, actor=claim.actor, payload=["acc", task.source, "connected"])
            return is_ours

    return persist(act, give_up=give_up)


def commit_batch(
    ledger: Ledger, work: Work, *, query: str, batch: int, value: object, give_up: Callable[[], bool] = never
) -> bool:
    """Commit the boundary of a micro-batch, exactly once for each (query, batch). False means fenced."""
    task = work.given(StreamTask)

    def act() -> bool:
        with ledger.transaction() as tx:
            is_ours = _is_held(tx, work.claim)
            if is_ours:
                _take_batch(tx, work.claim, task.source, query=query, batch=batch, value=value)
            return is_ours

    return persist(act, give_up=give_up)


def is_crowded(ledger: Ledger, work: Work, most: int) -> bool:
    """Answer whether the reactor has so much to take in that a stream should wait."""
    assert work.claim.actor is not None
    with ledger.reading() as tx:
        return waiting(tx, work.claim.actor) >= most


def waiting(tx: Transaction, actor: int) -> int:
    """Answer how many signals a reactor has not consumed yet."""
    return tx.one("SELECT count(*) FROM signals WHERE actor = :actor", int, actor=actor)


def _is_held(tx: Transaction, claim: Claim) -> bool:
    """Answer whether the execution is still its claimer's; held until the transaction ends."""
    row = tx.row(
        "SELECT id FROM executions WHERE id = :id AND token = :token AND completed_at IS NULL /*lock*/",
        id=claim.execution,
        token=claim.token,
    )
    return row is not None


def _take_batch(tx: Transaction, claim: Claim, source: str, *, query: str, batch: int, value: object) -> None:
    """Hand a micro-batch's boundary over, once for each (query, batch); None is no boundary."""
    assert claim.actor is not None
    is_new = tx.change(
        """UPDATE reactor_streams SET query = :query, batch = :batch
           WHERE reactor = :reactor AND source = :source AND (query <> :query OR batch < :batch)""",
        reactor=claim.actor,
        source=source,
        query=query,
        batch=batch,
    )
    if is_new and value is not None:
        reactors.signal(tx, actor=claim.actor, payload=["push", source, value, None, batch, None, 0, query])
