"""What reactors hand to workers: graphs of a fire on Spark, and streams that Spark reads for an accumulator.

A dispatch is a row that goes with the record which decided it, so it is made once. What comes of it is a signal to the
reactor, written by the transaction that closes the execution.
"""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.kinds.fire import FireTask
from pondage.ledger.kinds.stream import StreamTask
from pondage.ledger.queue import executions, queues
from pondage.ledger.queue.executions import Dispatch
from pondage.ledger.queue.queues import QueueKey
from pondage.ledger.tables import reactors
from pondage.ledger.tables.reactors import Lease

KINDS = frozenset({"dispatch", "dispatch stream", "cancel", "cancel stream", "adopt"})
WORK = frozenset({"graph", "stream"})
"""The kinds of dispatches that belong to reactors."""
ENDED_KEPT = 100
"""So many ended dispatches of a reactor stay, for whoever looks."""


class _Said(msgspec.Struct, kw_only=True):
    code: str = ""
    entry: str = ""
    source: str = ""
    every: int | None = None
    graphs: list[str] = []
    numbers: list[int] = []
    fire: int = 0
    attempt: int = 0
    reason: str = ""
    unhealthy: list[str] = []
    inputs: dict[str, object] = {}
    sources: list[str] = []


def take(tx: Transaction, lease: Lease, kind: str, payload: str) -> None:
    """Take in what a reactor decided about work of its own."""
    said = msgspec.json.decode(payload, type=_Said)
    if kind == "dispatch":
        _dispatch_fire(tx, lease, said)
    elif kind == "dispatch stream":
        _dispatch_stream(tx, lease, said)
    elif kind == "cancel":
        _cancel(tx, lease, {(said.fire, *each) for each in zip(said.graphs, said.numbers, strict=True)})
    elif kind == "cancel stream":
        for dispatch, _ in _open(tx, lease.actor, "stream", said.source):
            executions.cancel(tx, dispatch)
    else:
        _adopt(tx, lease, said)


def cancel_all(tx: Transaction, actor: int) -> None:
    """Cancel everything that a reactor has dispatched."""
    for kind in sorted(WORK):
        for dispatch, _ in _open(tx, actor, kind):
            executions.cancel(tx, dispatch)


def places(tx: Transaction, actor: int) -> list[str]:
    """Answer where the checkpoints of a reactor's streams are."""
    statement = "SELECT place || '/' || source AS place FROM reactor_streams WHERE reactor = :reactor"
    return tx.rows(statement, str, reactor=actor)


def _dispatch_fire(tx: Transaction, lease: Lease, said: _Said) -> None:
    queue = queues.find(tx, QueueKey(code=said.code))
    _forget_ended(tx, lease.actor)
    for graph in said.graphs:
        task = FireTask(
            reactor=lease.name, entry=said.entry, graph=graph, fire=said.fire, attempt=said.attempt,
            reason=said.reason, unhealthy=said.unhealthy, inputs=said.inputs,
        )  # fmt: skip
        executions.dispatch(
            tx,
            Dispatch(
                environment=lease.environment, kind="graph", node=graph, number=said.attempt, queue=queue, priority=0,
                actor=lease.actor, freshness=said.fire, inputs=msgspec.json.encode(task).decode(),
                reason=f"fire {said.fire} of reactor {lease.name}",
            ),
        )  # fmt: skip


def _dispatch_stream(tx: Transaction, lease: Lease, said: _Said) -> None:
    """Have a stream read, unless it is: then say so to the life that asks."""
    for dispatch, _ in _open(tx, lease.actor, "stream", said.source):
        held = tx.row(
            "SELECT id FROM executions WHERE dispatch = :id AND completed_at IS NULL AND token IS NOT NULL",
            id=dispatch,
        )
        if held is not None:
            reactors.signal(tx, actor=lease.actor, payload=["acc", said.source, "connected"])
        return
    _forget_ended(tx, lease.actor)
    last = tx.row(
        "SELECT max(number) AS n FROM dispatches WHERE actor = :actor AND kind = 'stream' AND node = :node",
        int,
        actor=lease.actor,
        node=said.source,
    )
    task = StreamTask(
        reactor=lease.name, entry=said.entry, source=said.source, place=_place(tx, lease, said.source),
        every=said.every,
    )  # fmt: skip
    executions.dispatch(
        tx,
        Dispatch(
            environment=lease.environment, kind="stream", node=said.source, number=(last or 0) + 1,
            queue=queues.find(tx, QueueKey(code=said.code)), priority=0, actor=lease.actor,
            inputs=msgspec.json.encode(task).decode(), reason=f"stream of reactor {lease.name}",
        ),
    )  # fmt: skip


def _place(tx: Transaction, lease: Lease, source: str) -> str:
    """Answer where the checkpoint of a stream is: one place for as long as the reactor is deployed."""
    tx.write(
        """INSERT INTO reactor_streams (reactor, source, place) VALUES (:reactor, :source, :place)
           ON CONFLICT DO NOTHING""",
        reactor=lease.actor,
        source=source,
        place=f"{lease.actor}-{tx.now}",
    )
    place = tx.one(
        "SELECT place FROM reactor_streams WHERE reactor = :reactor AND source = :source",
        str,
        reactor=lease.actor,
        source=source,
    )
    return f"{place}/{source}"


def _adopt(tx: Transaction, lease: Lease, said: _Said) -> None:
    """Keep what belongs to the open fire and to streams that are still declared; cancel everything else."""
    kept = {(said.fire, *each) for each in zip(said.graphs, said.numbers, strict=True)}
    _cancel(tx, lease, {place for _, place in _open(tx, lease.actor, "graph")} - kept)
    for dispatch, (_, source, _) in _open(tx, lease.actor, "stream"):
        if source not in said.sources:
            executions.cancel(tx, dispatch)


def _cancel(tx: Transaction, lease: Lease, places: set[tuple[int, str, int]]) -> None:
    for dispatch, place in _open(tx, lease.actor, "graph"):
        if place in places:
            executions.cancel(tx, dispatch)


def _open(tx: Transaction, actor: int, kind: str, node: str = "") -> list[tuple[int, tuple[int, str, int]]]:
    """Answer the open dispatches of a reactor, each with its fire, its graph or source, and its number."""
    rows = tx.rows(
        """SELECT id, coalesce(freshness, 0) AS fire, node, number FROM dispatches
           WHERE actor = :actor AND kind = :kind AND kind IN ('graph', 'stream') AND outcome IS NULL
             AND (:node = '' OR node = :node) ORDER BY id""",
        tuple[int, int, str, int],
        actor=actor,
        kind=kind,
        node=node,
    )
    return [(dispatch, (fire, part, number)) for dispatch, fire, part, number in rows]


def _forget_ended(tx: Transaction, actor: int) -> None:
    old = """SELECT id FROM dispatches WHERE actor = :actor AND kind IN ('graph', 'stream') AND outcome IS NOT NULL
             ORDER BY id DESC LIMIT 1000 OFFSET :kept"""
    tx.write(f"DELETE FROM executions WHERE dispatch IN ({old})", actor=actor, kept=ENDED_KEPT)
    tx.write(f"DELETE FROM dispatches WHERE id IN ({old})", actor=actor, kept=ENDED_KEPT)
