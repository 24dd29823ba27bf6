"""Whether the server is up, and `/metrics` for Prometheus: numbers of one environment and of this server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import actors, reads
from pondage.operations.operation import Level
from pondage.server.call import Call, Route
from pondage.server.job_metrics import of_jobs
from pondage.server.metric import Metric, written
from pondage.views.ponds.status import StatusView, status


class HealthView(msgspec.Struct, frozen=True, kw_only=True):
    """The server is up and its ledger answers."""

    ok: bool
    at: int


def _health(call: Call) -> HealthView:
    with call.ledger.reading() as tx:
        return HealthView(ok=True, at=tx.now)


def _metrics(call: Call) -> str:
    with call.ledger.reading() as tx:
        view = status(tx, call.ledger, call.environment)
        identity = actors.environment(tx, call.environment)
        found = [
            *_of_ponds(view),
            *_of_work(tx, identity),
            *_of_reads(tx, identity),
            *of_jobs(tx, call.ledger, identity),
        ]
    return written([*found, *_of_server(call)])


def _of_ponds(view: StatusView) -> Iterator[Metric]:
    states = Counter(pond.state for pond in view.ponds)
    yield Metric("ponds", "Ponds by state.", "gauge", tuple(({"state": each}, n) for each, n in sorted(states.items())))
    yield Metric(
        "staleness_seconds",
        "Age of the data of each Pond that has any.",
        "gauge",
        tuple(
            ({"pond": pond.key, "kind": pond.kind}, pond.staleness / 1e6)
            for pond in view.ponds
            if pond.staleness is not None
        ),
    )
    yield Metric(
        "runs_started_total", "Runs of each Pond.", "counter", tuple(({"pond": p.key}, p.runs) for p in view.ponds)
    )
    yield Metric("runs_active", "Runs that are active.", "gauge", (({}, sum(len(p.active) for p in view.ponds)),))
    roles = Counter(process.role for process in view.processes)
    yield Metric(
        "processes", "Processes alive.", "gauge", tuple(({"role": each}, n) for each, n in sorted(roles.items()))
    )
    yield Metric("executions_running", "Work that is held.", "gauge", (({}, sum(p.busy for p in view.processes)),))
    silent = [process.silent_us for process in view.processes if process.silent_us is not None]
    yield Metric("process_silence_seconds", "The longest silence.", "gauge", (({}, max(silent, default=0) / 1e6),))


def _of_work(tx: Transaction, environment: int | None) -> Iterator[Metric]:
    waiting, oldest = tx.one(
        """SELECT count(*) AS waiting, min(a.available_at) AS oldest FROM availabilities a
           JOIN executions e ON e.id = a.execution JOIN dispatches d ON d.id = e.dispatch
           WHERE a.available_at <= :now AND d.environment = :environment""",
        tuple[int, int | None],
        environment=environment,
    )
    age = 0.0 if oldest is None else max(0, tx.now - oldest) / 1e6
    yield Metric("queue_waiting", "Work that may be claimed.", "gauge", (({}, waiting),))
    yield Metric("queue_age_seconds", "How long the oldest of it waits.", "gauge", (({}, age),))
    rows = tx.rows(
        """SELECT q.components AS component, count(*) AS waiting FROM availabilities a
           JOIN queues q ON q.id = a.queue JOIN executions e ON e.id = a.execution
           JOIN dispatches d ON d.id = e.dispatch
           WHERE a.available_at <= :now AND d.environment = :environment AND q.components <> ''
           GROUP BY q.components ORDER BY q.components""",
        tuple[str, int],
        environment=environment,
    )
    yield Metric(
        "component_queue_waiting",
        "Work of components that may be claimed.",
        "gauge",
        tuple(({"component": component}, count) for component, count in rows),
    )
    waiting = tx.one(
        "SELECT count(*) AS waiting FROM outbox WHERE done_at IS NULL AND environment = :environment",
        int,
        environment=environment,
    )
    yield Metric("outbox_waiting", "What the outside must still be told.", "gauge", (({}, waiting),))
    halted = tx.one(
        "SELECT count(*) AS halted FROM actors WHERE halted IS NOT NULL AND environment = :environment",
        int,
        environment=environment,
    )
    yield Metric("actors_halted", "Actors that have stopped themselves.", "gauge", (({}, halted),))


def _of_reads(tx: Transaction, environment: int | None) -> Iterator[Metric]:
    rows = [] if environment is None else reads.totals(tx, environment)
    for name, what, column in (("reads_total", "Reads of Ponds", 2), ("read_bytes_total", "Bytes of what was read", 3)):
        values = tuple(({"pond": row[0], "door": row[1]}, int(row[column])) for row in rows)
        yield Metric(name, f"{what}, by door, as far as the read log goes back.", "counter", values)


def _of_server(call: Call) -> Iterator[Metric]:
    counted = sorted(call.service.requests.items())
    yield Metric(
        "http_requests_total",
        "Requests that were let in, by route and status.",
        "counter",
        tuple(({"method": m, "route": r, "status": str(s)}, n) for (m, r, s), n in counted),
    )
    for kind, name, help_ in (("ask", "questions_total", "Questions"), ("push", "pushes_total", "Pushes")):
        values = tuple(({"token": who}, n) for (each, who), n in sorted(call.service.heard.items()) if each == kind)
        yield Metric(name, f"{help_} that were let in, by the name of the token.", "counter", values)
    visitors = call.service.visitors
    of_kinds = (("known", visitors.count - visitors.strangers), ("stranger", visitors.strangers))
    yield Metric("connections", "Open connections.", "gauge", tuple(({"kind": kind}, n) for kind, n in of_kinds))
    yield Metric(
        "connections_ended_total", "Connections refused or ended by a limit.", "counter", (({}, visitors.sent_away),)
    )
    yield Metric("feed_watchers", "Clients of the feed.", "gauge", (({}, call.service.feeds.count),))


ROUTES = (
    Route(
        method="GET",
        path="/healthz",
        level=Level.OPEN,
        handler=_health,
        response=HealthView,
        summary="Whether the server is up and its ledger answers.",
    ),
    Route(
        method="GET",
        path="/metrics",
        level=Level.READ,
        handler=_metrics,
        response=str,
        summary="Numbers for Prometheus.",
        media="text/plain; version=0.0.4",
    ),
)
