"""Claims: taking the best execution of some queues with a token that was chosen before, and finding it again."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from pondage.ledger.database.driver import Row, Transaction, number, number_or_none, numbered, text, text_or_none
from pondage.ledger.queue import pools, processes


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """An execution that this process holds, by its token."""

    execution: int
    token: str
    epoch: int
    dispatch: int
    kind: str
    node: str
    number: int
    environment: int
    actor: int | None
    run: int | None
    freshness: int | None
    inputs: str
    digest: str | None
    timeout_s: float | None
    is_isolated: bool
    pool: str
    queue: int
    components: frozenset[str] = frozenset()
    concurrency: int = 0
    """What it runs, and how many executions of that one process may run at a time; 0 is as many as it has slots."""
    is_stopped: bool = False
    """Its component was asked to stop before anybody took it."""
    is_once: bool = False
    """It may run only once: it is never given back, and a crash is its failure."""


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """A queue that a process may claim from; its pool limits how many of its executions run at once, anywhere.

    `concurrency` limits how many executions of its components one process runs at once, `most` how many processes of a
    machine run any; 0 is as many as there are slots, and processes.
    """

    id: int
    pool: str = ""
    components: frozenset[str] = frozenset()
    concurrency: int = 0
    most: int = 0


def as_queue(row: Row) -> Queue:
    """Answer a queue from its row."""
    return Queue(
        id=number(row, "id"),
        pool=text(row, "pool"),
        components=frozenset(text(row, "components").split()),
        concurrency=number(row, "concurrency"),
        most=number(row, "most"),
    )


# The head of each queue at each priority: one probe of an index for each, however much is due or will be.
_HEADS = """SELECT q.id AS queue, p.priority AS priority,
                   (SELECT a.available_at FROM availabilities a
                    WHERE a.queue = q.id AND a.priority = p.priority AND a.available_at <= :now
                          AND a.is_isolated <= :alone
                    ORDER BY a.available_at LIMIT 1) AS available_at
            FROM {processes}queues q
            CROSS JOIN (SELECT 0 AS priority UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) p
            WHERE q.id IN ({queues})"""
# Nothing for a dead process; the row of a living one is held, so that no reaper passes before the claim ends.
_ALIVE = "(SELECT id FROM processes WHERE id = :process AND dead_at IS NULL /*share*/) alive CROSS JOIN "

_COLUMNS = """SELECT e.id AS execution, e.epoch, e.is_isolated, e.completed_at, d.id AS dispatch, d.kind, d.node,
                     d.number, d.environment, d.actor, d.run, d.freshness, d.inputs, d.digest, d.timeout_s,
                     d.stopped_at, d.crash_budget, q.pool, q.id AS queue, q.components, q.concurrency """
_HEAD = """(SELECT execution FROM availabilities
                  WHERE queue = :queue AND priority = {priority} AND available_at <= :now AND is_isolated <= :alone
                  ORDER BY available_at, execution LIMIT 1 /*lock skip*/)"""
_CLAIMABLE = f"""{_COLUMNS} FROM {_HEAD.format(priority=":priority")} a
                 JOIN executions e ON e.id = a.execution JOIN dispatches d ON d.id = e.dispatch
                 JOIN queues q ON q.id = d.queue"""
# Most processes serve one queue: which of its heads is the best need not be asked before.
_ONLY = f"""{_COLUMNS} FROM {_ALIVE}executions e JOIN dispatches d ON d.id = e.dispatch JOIN queues q ON q.id = d.queue
            WHERE e.id = coalesce({", ".join(_HEAD.format(priority=each) for each in range(4))})"""
_CLAIMED = f"""{_COLUMNS} FROM executions e JOIN dispatches d ON d.id = e.dispatch JOIN queues q ON q.id = d.queue
               WHERE e.token = :token"""


def claim(tx: Transaction, *, process: int, queues: list[Queue], token: str, is_alone: bool) -> Claim | None:
    """Take the best claimable execution of these queues, or None.

    The token is chosen by the caller before: after any error `find` tells whether the claim was made. A process that
    was declared dead gets nothing. Isolated work (it was near a crash) is taken only by a process that holds nothing.
    A queue whose pool is full is not looked at, so it blocks nobody.
    """
    pooled = sorted({one.pool for one in queues if one.pool})
    # Processes come before pools in the order of locks; without pools the look for work takes the lock itself.
    if not queues or (pooled and not processes.is_alive(tx, process)):
        return None
    slots = {pool: pools.free_slot(tx, pool) for pool in pooled}
    open_queues = [
        one.id
        for one in queues
        if (not one.pool or slots[one.pool] is not None) and not (one.most and _has_enough(tx, one, process))
    ]
    if not open_queues:
        return None
    if len(open_queues) == 1:
        found = tx.row(_ONLY, queue=open_queues[0], process=process, alone=int(is_alone))
        return None if found is None else _take(tx, found, process=process, token=token, slots=slots)
    for queue_id, priority in heads(tx, open_queues, is_alone=is_alone, process=process):
        found = tx.row(_CLAIMABLE, queue=queue_id, priority=priority, alone=int(is_alone))
        if found is not None:
            return _take(tx, found, process=process, token=token, slots=slots)
    return None


def _has_enough(tx: Transaction, queue: Queue, process: int) -> bool:
    """Answer whether so many other processes of the machine as may serve a queue are at it already.

    One that is at it stays: how much it does itself is its own to count. The row of the queue is held until the claim
    ends, so that two processes never take its last place at once.
    """
    tx.row("SELECT id FROM queues WHERE id = :id /*lock*/", int, id=queue.id)
    others = tx.one(
        """SELECT count(DISTINCT e.process) AS others
           FROM processes p JOIN executions e ON e.process = p.id JOIN dispatches d ON d.id = e.dispatch
           WHERE p.machine = (SELECT machine FROM processes WHERE id = :process) AND p.dead_at IS NULL
                 AND p.id <> :process AND e.completed_at IS NULL AND e.process IS NOT NULL AND d.queue = :queue""",
        int,
        process=process,
        queue=queue.id,
    )
    return others >= queue.most


def heads(
    tx: Transaction, queue_ids: list[int], *, is_alone: bool, process: int | None = None
) -> list[tuple[int, int]]:
    """Answer which queues have something claimable, each with its priority: the best first.

    With `process`, nothing when that one was declared dead.
    """
    marks, values = numbered("queue", queue_ids)
    if process is not None:
        values["process"] = process
    rows = tx.rows(_heads(marks, process is not None), alone=int(is_alone), **values)
    found = [row for row in rows if row["available_at"] is not None]
    found.sort(key=lambda row: (number(row, "priority"), number(row, "available_at"), number(row, "queue")))
    return [(number(row, "queue"), number(row, "priority")) for row in found]


@lru_cache(maxsize=200)
def _heads(marks: str, is_for_process: bool) -> str:
    return _HEADS.format(queues=marks, processes=_ALIVE if is_for_process else "")


def _take(tx: Transaction, found: Row, *, process: int, token: str, slots: dict[str, int | None]) -> Claim:
    """Take what was found: its availability is locked by us, and so nobody else's."""
    claimed = _claim(found, token=token, epoch=number(found, "epoch") + 1)
    tx.write_one("DELETE FROM availabilities WHERE execution = :id AND available_at <= :now", id=claimed.execution)
    tx.write_one(
        """UPDATE executions SET token = :token, process = :process, epoch = :epoch, claimed_at = :now
           WHERE id = :id AND completed_at IS NULL AND token IS NULL""",
        token=token,
        process=process,
        epoch=claimed.epoch,
        id=claimed.execution,
    )
    if claimed.pool:
        slot = slots[claimed.pool]
        is_taken = slot is not None and pools.take(tx, claimed.pool, slot, claimed.execution)
        assert is_taken, f"pool {claimed.pool} had a free slot and yet none was taken"
    return claimed


def find(tx: Transaction, token: str) -> Claim | None:
    """Answer the open execution with this token: how an ambiguous claim is resolved."""
    row = tx.row(_CLAIMED, token=token)
    if row is None or row["completed_at"] is not None:
        return None
    return _claim(row, token=token, epoch=number(row, "epoch"))


def _claim(row: Row, *, token: str, epoch: int) -> Claim:
    timeout = row["timeout_s"]
    return Claim(
        execution=number(row, "execution"),
        token=token,
        epoch=epoch,
        dispatch=number(row, "dispatch"),
        kind=text(row, "kind"),
        node=text(row, "node"),
        number=number(row, "number"),
        environment=number(row, "environment"),
        actor=number_or_none(row, "actor"),
        run=number_or_none(row, "run"),
        freshness=number_or_none(row, "freshness"),
        inputs=text(row, "inputs"),
        digest=text_or_none(row, "digest"),
        timeout_s=float(timeout) if isinstance(timeout, int | float) else None,
        is_isolated=bool(row["is_isolated"]),
        pool=text(row, "pool"),
        queue=number(row, "queue"),
        components=frozenset(text(row, "components").split()),
        concurrency=number(row, "concurrency"),
        is_stopped=row["stopped_at"] is not None,
        is_once=text(row, "kind") == "component" and number(row, "crash_budget") == 0,
    )
