"""Asks about jobs and their runs."""

from __future__ import annotations

import msgspec

from pondage.cli.client.desk import asks
from pondage.cli.client.session import Session
from pondage.engine.process.local import is_intact
from pondage.ledger.act import jobs as ledger_jobs
from pondage.ledger.act.job_deploys import deployed_job
from pondage.ledger.act.jobs import resume_difference
from pondage.ledger.tables.history import this_person
from pondage.ledger.tables.job_plans import StoredJob
from pondage.views.jobs.jobs import JobRunDetail, JobsView, find_run
from pondage.views.jobs.jobs import job_run as read_run
from pondage.views.jobs.jobs import jobs as read_jobs


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """The run that has begun."""

    run: str


class Edited(msgspec.Struct, frozen=True, kw_only=True):
    """What an edited job does to a run that is gone on with."""

    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@asks("GET /v1/jobs")
def jobs(here: Session, *, job: str | None, limit: int) -> JobsView:
    """Ask for the deployed jobs and the newest runs."""
    with here.ledger.reading() as tx:
        return read_jobs(tx, here.ledger, here.environment, job=job, limit=limit)


@asks("GET /v1/jobs/runs/{run}")
def job_run(here: Session, *, run: str) -> JobRunDetail:
    """Ask for a run in full."""
    with here.ledger.reading() as tx:
        return read_run(tx, here.ledger, here.environment, run)


@asks("POST /v1/jobs/{job}/runs")
def start(here: Session, *, job: str, context: dict[str, object]) -> Started:
    """Run a deployed job."""
    with here.ledger.reading() as tx:
        stored = deployed_job(tx, here.ledger, here.environment, job)
    return Started(run=ledger_jobs.start_job(here.ledger, here.environment, stored, context=context, by=this_person()))


@asks("POST /v1/jobs/runs", kept=("reason",))
def start_file(
    here: Session, *, job: StoredJob, archive: bytes, context: dict[str, object], reason: str = "by hand"
) -> Started:
    """Run a job of a file, with the code that it names."""
    run = ledger_jobs.start_job(
        here.ledger, here.environment, job, context=context, archive=archive, reason=reason, by=this_person()
    )
    return Started(run=run)


@asks("POST /v1/jobs/runs/{run}/kill")
def kill(here: Session, *, run: str) -> JobRunDetail:
    """End a run; the second time at once."""
    found = _found(here, run)
    ledger_jobs.kill(here.ledger, here.environment, found, by=this_person())
    return job_run.here(here, run=found)


@asks("POST /v1/jobs/runs/{run}/resume")
def resume(
    here: Session,
    *,
    run: str,
    fresh_globals: bool,
    is_edited: bool = False,
    job: StoredJob | None = None,
    archive: bytes = b"",
) -> Started:
    """Go on with a run that failed or was killed, with the job as it was or as it is now."""
    began = ledger_jobs.resume(
        here.ledger,
        here.environment,
        _found(here, run),
        job=job,
        archive=archive,
        is_edited=is_edited,
        fresh_globals=fresh_globals,
        is_intact=is_intact,
        by=this_person(),
    )
    return Started(run=began)


@asks("POST /v1/jobs/runs/{run}/difference")
def difference(here: Session, *, run: str, job: StoredJob) -> Edited:
    """Ask what an edited job would do anew."""
    found = resume_difference(here.ledger, here.environment, _found(here, run), job)
    return Edited(changed=tuple(found.changed), added=tuple(found.added), removed=tuple(found.removed))


def _found(here: Session, run: str) -> str:
    with here.ledger.reading() as tx:
        return find_run(tx, here.environment, run).public_id
