"""The queues of components: what waits for which code, and who could take it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors
from pondage.ledger.upkeep import retention, serving
from pondage.views.runs import processes
from pondage.views.runs.processes import ProcessView


class QueueView(msgspec.Struct, frozen=True, kw_only=True):
    """A queue of components. `is_left_over`: something waits in it, and newer code was deployed that could do it."""

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
    """A queue, the code that serves it now and did before, its components with their versions in that code.

    `deployed_at` is None of code that was never deployed, but came along with a run.
    """

    queue: int
    served_by: str
    before: str = ""
    components: dict[str, str] = {}
    deployed_at: int | None = None


# Only what is open is counted, by the indexes over it: what ended long ago costs nothing.
_WAITING = "SELECT queue, count(*) AS count, min(available_at) AS oldest FROM availabilities GROUP BY queue"
_RUNNING = """SELECT d.queue AS queue, count(*) AS count FROM executions e JOIN dispatches d ON d.id = e.dispatch
              WHERE e.completed_at IS NULL AND e.process IS NOT NULL GROUP BY d.queue"""


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    code: str
    served_by: str
    pool: str
    labels: str
    components: str
    memory: str


def component_queues(tx: Transaction, ledger: Ledger, *, environment: str = "main", is_all: bool = False) -> QueuesView:
    """Answer the queues of components; with `is_all` those too in which there is nothing now."""
    identity = actors.environment(tx, environment)

    def is_left_over(row: _Row) -> bool:
        return identity is not None and serving.is_left_over(
            ledger, tx, code=row.code, served_by=row.served_by, names=row.components.split(), environment=identity
        )

    newest = retention.newest_archive(tx)
    waiting = {queue: found for queue, *found in tx.rows(_WAITING, tuple[int, int, int])}
    running = dict(tx.rows(_RUNNING, tuple[int, int]))
    alive = processes.heard_of(processes.alive(tx, ledger))
    rows = tx.rows(
        """SELECT id, code, served_by, pool, labels, components, memory FROM queues
           WHERE components <> '' ORDER BY id""",
        _Row,
    )
    return QueuesView(
        newest=newest,
        queues=tuple(
            _view(tx, row, waiting.get(row.id), running.get(row.id, 0), alive, is_left_over)
            for row in rows
            if is_all or row.id in waiting or row.id in running
        ),
    )


def _view(
    tx: Transaction,
    row: _Row,
    waiting: list[int] | None,
    running: int,
    alive: tuple[ProcessView, ...],
    is_left_over: Callable[[_Row], bool],
) -> QueueView:
    count, oldest = waiting or (0, tx.now)
    labels = tuple(row.labels.split())
    return of_row(
        QueueView,
        row,
        components=tuple(row.components.split()),
        labels=labels,
        memory=tuple(row.memory.split()),
        waiting=count,
        running=running,
        oldest_us=None if waiting is None else max(0, tx.now - oldest),
        workers=tuple(
            each.id
            for each in alive
            if each.role == "worker" and row.served_by in ("", each.code) and set(labels) <= set(each.labels)
        ),
        is_left_over=waiting is not None and row.served_by != "" and is_left_over(row),
    )
