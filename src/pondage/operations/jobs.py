"""Jobs and their runs: which there are, how one goes, starting one, ending one, going on with one."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pondage.engine.process.local import is_intact
from pondage.ledger.act import jobs
from pondage.ledger.act.job_deploys import deployed_job
from pondage.ledger.tables.job_plans import StoredJob
from pondage.operations.operation import Context, Level, LimitRequest, NotedRequest, operation
from pondage.operations.runs import RunRequest
from pondage.views.jobs.job_graph import JobGraphView
from pondage.views.jobs.job_graph import job_graph as read_graph
from pondage.views.jobs.jobs import JobRunDetail, JobsView, find_run
from pondage.views.jobs.jobs import job_run as read_run
from pondage.views.jobs.jobs import jobs as read_jobs


class JobsRequest(LimitRequest, frozen=True, kw_only=True):
    """Which runs of jobs."""

    job: str | None = None


class JobRequest(NotedRequest, frozen=True, kw_only=True):
    """A deployed job, and variables of the context."""

    job: str
    context: Mapping[str, object] = {}
    reason: str = "by the API"


class SentJobRequest(NotedRequest, frozen=True, kw_only=True):
    """A job that need not be deployed, the code of its own components, and variables of the context."""

    job: StoredJob
    archive: bytes = b""
    context: Mapping[str, object] = {}
    reason: str = "by the API"


class KillRequest(NotedRequest, frozen=True, kw_only=True):
    """A run of a job."""

    run: str


class ResumeRequest(KillRequest, frozen=True, kw_only=True):
    """Whether globals begin anew; with a job (and its code) the run goes on with that one, if its edits were seen."""

    fresh_globals: bool = False
    is_edited: bool = False
    job: StoredJob | None = None
    archive: bytes = b""


class DifferenceRequest(KillRequest, frozen=True, kw_only=True):
    """A job as it is now."""

    job: StoredJob


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """The run that has begun."""

    run: str


class EditedView(msgspec.Struct, frozen=True, kw_only=True):
    """Sub-jobs that an edited job changes, adds and removes."""

    changed: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]


@operation("GET /v1/jobs", Level.READ, JobsRequest)
def job_list(context: Context, asked: JobsRequest) -> JobsView:
    """Deployed jobs and the newest runs of jobs."""
    with context.ledger.reading() as tx:
        return read_jobs(tx, context.ledger, context.environment, job=asked.job, limit=asked.limit)


@operation("GET /v1/jobs/runs/{run}", Level.READ, RunRequest)
def job_show(context: Context, asked: RunRequest) -> JobRunDetail:
    """A run of a job in full."""
    with context.ledger.reading() as tx:
        return read_run(tx, context.ledger, context.environment, asked.run)


@operation("GET /v1/jobs/runs/{run}/graph", Level.READ, RunRequest)
def job_graph(context: Context, asked: RunRequest) -> JobGraphView:
    """The components of a job run's plan, and the edges between them."""
    with context.ledger.reading() as tx:
        return read_graph(tx, context.ledger, context.environment, asked.run)


@operation("POST /v1/jobs/{job}/runs", Level.OPERATE, JobRequest, status=202, kept=("reason",))
def job_run(context: Context, asked: JobRequest) -> Started:
    """Run a deployed job."""
    with context.ledger.reading() as tx:
        stored = deployed_job(tx, context.ledger, context.environment, asked.job)
    return _started(context, stored, b"", asked.context, asked.reason)


@operation("POST /v1/jobs/runs", Level.OPERATE, SentJobRequest, status=202, kept=("reason",))
def job_run_sent(context: Context, asked: SentJobRequest) -> Started:
    """Run a job that is sent with its code, deployed or not."""
    return _started(context, asked.job, asked.archive, asked.context, asked.reason)


@operation("POST /v1/jobs/runs/{run}/kill", Level.OPERATE, KillRequest)
def job_kill(context: Context, asked: KillRequest) -> JobRunDetail:
    """End a run of a job; the second time at once."""
    found = _found(context, asked.run)
    jobs.kill(context.ledger, context.environment, found, by=context.by)
    with context.ledger.reading() as tx:
        return read_run(tx, context.ledger, context.environment, found)


@operation("POST /v1/jobs/runs/{run}/resume", Level.OPERATE, ResumeRequest, status=202)
def job_resume(context: Context, asked: ResumeRequest) -> Started:
    """Go on with a run that failed or was killed: a new run."""
    run = jobs.resume(
        context.ledger,
        context.environment,
        _found(context, asked.run),
        job=asked.job,
        archive=asked.archive,
        is_edited=asked.is_edited,
        fresh_globals=asked.fresh_globals,
        is_intact=is_intact,
        by=context.by,
    )
    return Started(run=run)


@operation("POST /v1/jobs/runs/{run}/difference", Level.READ, DifferenceRequest, kind="look")
def job_difference(context: Context, asked: DifferenceRequest) -> EditedView:
    """What an edited job would do anew when a run goes on with it."""
    found = jobs.resume_difference(context.ledger, context.environment, _found(context, asked.run), asked.job)
    return EditedView(changed=tuple(found.changed), added=tuple(found.added), removed=tuple(found.removed))


def _started(context: Context, job: StoredJob, archive: bytes, variables: Mapping[str, object], reason: str) -> Started:
    run = jobs.start_job(
        context.ledger,
        context.environment,
        job,
        context=dict(variables),
        archive=archive,
        reason=reason,
        by=context.by,
    )
    return Started(run=run)


def _found(context: Context, run: str) -> str:
    with context.ledger.reading() as tx:
        return find_run(tx, context.environment, run).public_id
