"""The queues of components: what waits for which code, and who could take it."""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Row, Transaction, number, text
from pondage.ledger.upkeep import retention
from pondage.views.runs import processes
from pondage.views.runs.processes import ProcessView


class QueueView(msgspec.Struct, frozen=True, kw_only=True):
    """A queue of components. `is_left_over`: something waits in it for code that is not what was deployed last."""

    id: int
    components: tuple[str, ...]
    code: str
    served_by: str
    labels: tuple[str, ...]
    memory: tuple[str, ...]
    pool: str
    waiting: int
    running: int
    oldest_us: int | None
    workers: tuple[str, ...]
    is_left_over: bool


class QueuesView(msgspec.Struct, frozen=True, kw_only=True):
    """All queues of components in which something waits or runs, the oldest first."""

    newest: str
    queues: tuple[QueueView, ...]


class Rebound(msgspec.Struct, frozen=True, kw_only=True):
    """A queue and the code that serves it now."""

    queue: int
    served_by: str


# Only what is open is counted, by the indexes over it: what ended long ago costs nothing.
_WAITING = "SELECT queue, count(*) AS count, min(available_at) AS oldest FROM availabilities GROUP BY queue"
_RUNNING = """SELECT d.queue AS queue, count(*) AS count FROM executions e JOIN dispatches d ON d.id = e.dispatch
              WHERE e.completed_at IS NULL AND e.process IS NOT NULL GROUP BY d.queue"""


def component_queues(tx: Transaction, *, is_all: bool = False) -> QueuesView:
    """Answer the queues of components; with `is_all` those too in which there is nothing now."""
    newest = retention.newest_archive(tx)
    waiting = {number(row, "queue"): row for row in tx.rows(_WAITING)}
    running = dict(tx.rows(_RUNNING, tuple[int, int]))
    alive = processes.alive(tx)
    rows = tx.rows(
        """SELECT id, code, served_by, pool, labels, components, memory FROM queues
           WHERE components <> '' ORDER BY id"""
    )
    return QueuesView(
        newest=newest,
        queues=tuple(
            _view(tx, row, waiting.get(number(row, "id")), running.get(number(row, "id"), 0), alive, newest)
            for row in rows
            if is_all or number(row, "id") in waiting or number(row, "id") in running
        ),
    )


def _view(
    tx: Transaction, row: Row, waiting: Row | None, running: int, alive: tuple[ProcessView, ...], newest: str
) -> QueueView:
    served_by, labels = text(row, "served_by"), tuple(text(row, "labels").split())
    return QueueView(
        id=number(row, "id"),
        components=tuple(text(row, "components").split()),
        code=text(row, "code"),
        served_by=served_by,
        labels=labels,
        memory=tuple(text(row, "memory").split()),
        pool=text(row, "pool"),
        waiting=0 if waiting is None else number(waiting, "count"),
        running=running,
        oldest_us=None if waiting is None else max(0, tx.now - number(waiting, "oldest")),
        workers=tuple(
            each.id
            for each in alive
            if each.role == "worker" and served_by in ("", each.code) and set(labels) <= set(each.labels)
        ),
        is_left_over=waiting is not None and served_by not in ("", newest),
    )
