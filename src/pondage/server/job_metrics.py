"""Numbers of jobs for Prometheus: how long components take, edges that fire, what a resume could take over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import job_runs
from pondage.server.metric import Metric
from pondage.views.jobs.job_metrics import JobMetrics, job_metrics

NEWEST_RUNS = 50
NEWEST_WORK = 2_000
"""Only what is new is looked at: the cost of a look does not grow with the age of a ledger."""

# By the primary key from the newest on, whatever its kind.
_TAKEN = """
SELECT d.node AS component, count(*) AS count, CAST(sum(e.completed_at - e.claimed_at) AS BIGINT) AS total,
       max(e.completed_at - e.claimed_at) AS longest
FROM (SELECT id, environment, kind, node FROM dispatches ORDER BY id DESC LIMIT :newest) d
JOIN executions e ON e.dispatch = d.id
WHERE d.kind = 'component' AND d.environment = :environment AND e.claimed_at IS NOT NULL AND e.completed_at IS NOT NULL
GROUP BY d.node ORDER BY d.node"""

_OLDEST = """
SELECT q.id AS queue, q.pool AS pool, q.components AS component, min(a.available_at) AS oldest
FROM availabilities a JOIN queues q ON q.id = a.queue JOIN executions e ON e.id = a.execution
     JOIN dispatches d ON d.id = e.dispatch
WHERE a.available_at <= :now AND d.environment = :environment
GROUP BY q.id, q.pool, q.components ORDER BY q.id"""


def of_jobs(tx: Transaction, ledger: Ledger, environment: int | None) -> Iterator[Metric]:
    """Answer the numbers of the newest runs, and how old each queue is."""
    if environment is None:
        return
    yield from _components(tx, environment)
    yield from _runs(tx, ledger, environment)
    rows = tx.rows(_OLDEST, tuple[int, str, str, int], environment=environment)
    yield Metric(
        "queue_oldest_seconds",
        "How long the oldest work of each queue waits.",
        "gauge",
        tuple(
            (
                {"queue": str(queue), "pool": pool, "component": component},
                max(0, tx.now - oldest) / 1e6,
            )
            for queue, pool, component, oldest in rows
        ),
    )


def _components(tx: Transaction, environment: int) -> Iterator[Metric]:
    rows = tx.rows(_TAKEN, tuple[str, int, int, int], newest=NEWEST_WORK, environment=environment)
    for name, column, scale, what in (
        ("component_runtime_seconds_sum", 2, 1e6, "How long components ran, of the newest work."),
        ("component_runtime_seconds_count", 1, 1, "How often components ran, of the newest work."),
        ("component_runtime_seconds_max", 3, 1e6, "The longest that each component ran, of the newest work."),
    ):
        yield Metric(name, what, "gauge", tuple(({"component": row[0]}, int(row[column]) / scale) for row in rows))


def _runs(tx: Transaction, ledger: Ledger, environment: int) -> Iterator[Metric]:
    newest: dict[str, JobMetrics] = {}
    resumed: dict[str, int] = {}
    for run in job_runs.newest(tx, environment, job=None, limit=NEWEST_RUNS):
        if run.job in newest and (run.resumed_from is None or run.job in resumed):
            continue
        found = job_metrics(tx, run, ledger.job(tx, run.definition))
        newest.setdefault(run.job, found)
        if found.resumed_in_us is not None:
            resumed.setdefault(run.job, found.resumed_in_us)

    def by_job(values: Mapping[str, float]) -> tuple[tuple[Mapping[str, str], float], ...]:
        return tuple(({"job": job}, value) for job, value in sorted(values.items()))

    yield Metric(
        "job_edges_fired",
        "Edges that fired in the newest run of each job.",
        "gauge",
        by_job({job: each.edges_fired for job, each in newest.items()}),
    )
    yield Metric(
        "job_checkpoint_bytes",
        "What a resume of the newest run of each job could take over.",
        "gauge",
        by_job({job: each.checkpoint_bytes for job, each in newest.items()}),
    )
    yield Metric(
        "job_resume_seconds",
        "How long the newest resume of each job took until its first component began.",
        "gauge",
        by_job({job: taken / 1e6 for job, taken in resumed.items()}),
    )
