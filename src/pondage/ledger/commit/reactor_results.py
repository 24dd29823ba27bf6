"""A worker's transactions for reactors: the guarded commit of a graph, and one for each micro-batch of a stream."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pondage.ledger.commit import reactor_work
from pondage.ledger.commit.work import Work, commit, never
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.patience import persist
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import reactor_ponds
from pondage.ledger.tables.reactors import Lease


def commit_graph(
    ledger: Ledger, work: Work, rows: list[object] | None, *, process: int, give_up: Callable[[], bool] = never
) -> bool:
    """Say that a graph of a fire ended well, with what its Pond gets of it (None: it has no Pond). False means fenced.

    The rows are kept under (reactor, fire, graph): whoever runs the graph again puts the same in the same place.
    """

    def record(tx: Transaction) -> None:
        claim, task = work.claim, work.fire
        assert claim.actor is not None
        assert task is not None
        if rows is not None:
            lease = Lease(actor=claim.actor, environment=claim.environment, name=task.reactor, epoch=0, token="")
            result = {"fire": task.fire, "graph": task.graph, "rows": rows}
            reactor_ponds.take(tx, lease, "result", msgspec.json.encode(result).decode())
        reactor_work.ended(tx, claim)

    return commit(ledger, work, "ok", record, process=process, give_up=give_up)


def commit_stream(ledger: Ledger, work: Work, *, process: int, give_up: Callable[[], bool] = never) -> bool:
    """Say that a stream ended by itself: its reactor asks for it again after a while. False means fenced."""
    message = "the query ended"
    return commit(
        ledger, work, "ok", lambda tx: reactor_work.ended(tx, work.claim, error=message), process=process,
        give_up=give_up,
    )  # fmt: skip


def begin_stream(ledger: Ledger, work: Work, *, give_up: Callable[[], bool] = never) -> bool:
    """Say that Spark reads a stream now. False means fenced."""
    task = work.stream
    assert task is not None

    def act() -> bool:
        with ledger.transaction() as tx:
            is_ours = reactor_work.is_held(tx, work.claim)
            if is_ours:
                reactor_work.connected(tx, work.claim, task.source)
            return is_ours

    return persist(act, give_up=give_up)


def commit_batch(
    ledger: Ledger, work: Work, *, query: str, batch: int, value: object, give_up: Callable[[], bool] = never
) -> bool:
    """Commit the boundary of a micro-batch, exactly once for each (query, batch). False means fenced."""
    task = work.stream
    assert task is not None

    def act() -> bool:
        with ledger.transaction() as tx:
            is_ours = reactor_work.is_held(tx, work.claim)
            if is_ours:
                reactor_work.take_batch(tx, work.claim, task.source, query=query, batch=batch, value=value)
            return is_ours

    return persist(act, give_up=give_up)


def is_crowded(ledger: Ledger, work: Work, most: int) -> bool:
    """Answer whether the reactor has so much to take in that a stream should wait."""
    assert work.claim.actor is not None
    with ledger.reading() as tx:
        return reactor_work.waiting(tx, work.claim.actor) >= most
