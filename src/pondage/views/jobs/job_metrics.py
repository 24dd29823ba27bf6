"""What a run of a job cost (the rulebook's metrics): edges that fired, globals that were written, what is kept."""

from __future__ import annotations

from collections import Counter

import msgspec

from pondage.kernel.control.state import EdgeRow, EdgeState, LevelRow, Row, VersionRow
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import job_runs
from pondage.ledger.tables.job_plans import JobVersion
from pondage.ledger.tables.job_runs import JobRunRow


class JobMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """Counted from the run's rows. Each component has its own `started_at` and `ended_at`."""

    edges_fired: int
    global_writes: dict[str, int]
    """By the sub-job in which they were written."""
    checkpoint_bytes: int
    """The rows and the tables that a resume could take over."""
    resumed_in_us: int | None
    """Of a run that resumes another: how long it took until the first component began."""


def job_metrics(tx: Transaction, run: JobRunRow, version: JobVersion) -> JobMetrics:
    """Answer what a run cost so far."""
    edges = job_runs.machine_rows(tx, run.actor, "edge").values()
    versions = job_runs.machine_rows(tx, run.actor, "version").values()
    levels = job_runs.machine_rows(tx, run.actor, "level") if versions else {}
    writes = Counter(_sub_name(version, levels, one.sub) for one in versions if isinstance(one, VersionRow))
    return JobMetrics(
        edges_fired=sum(isinstance(one, EdgeRow) and one.state is EdgeState.FIRED for one in edges),
        global_writes=dict(sorted(writes.items())),
        checkpoint_bytes=_kept(tx, run),
        resumed_in_us=None if run.resumed_from is None else _resumed_in(tx, run),
    )


def _sub_name(version: JobVersion, levels: dict[str, Row], key: str) -> str:
    """Answer a sub-job as people call it, those of iterations by the iterator's body: all its iterations together."""
    level, _, place = key.rpartition("/")
    row, inner = levels.get(level), version.index
    for name in row.path if isinstance(row, LevelRow) else ():
        inner = inner.bodies[name]
    return inner.plan.subs[int(place)].name


def _kept(tx: Transaction, run: JobRunRow) -> int:
    rows = tx.row("SELECT CAST(sum(length(value)) AS BIGINT) FROM run_rows WHERE actor = :actor", int, actor=run.actor)
    tables = tx.row("SELECT CAST(sum(bytes) AS BIGINT) FROM run_tables WHERE run = :run", int, run=run.id)
    return (rows or 0) + (tables or 0)


def _resumed_in(tx: Transaction, run: JobRunRow) -> int | None:
    at = tx.row(
        """SELECT min(e.claimed_at) AS at FROM dispatches d JOIN executions e ON e.dispatch = d.id
           WHERE d.kind = 'component' AND d.actor = :actor AND e.claimed_at IS NOT NULL""",
        int,
        actor=run.actor,
    )
    return None if at is None else at - run.started_at
