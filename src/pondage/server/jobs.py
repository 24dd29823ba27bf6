"""Routes that run jobs: start a deployed one, kill a run, go on with one that failed."""

from __future__ import annotations

import msgspec

from pondage.engine.process.local import is_intact
from pondage.ledger.act import jobs
from pondage.ledger.act.exposed import given
from pondage.ledger.act.job_deploys import deployed_job
from pondage.ledger.tables.job_plans import StoredJob
from pondage.plan.job.intake import check_sent
from pondage.server.demanding import Plain
from pondage.server.levels import Level
from pondage.server.table import Call, Route
from pondage.server.uploads import LARGE, check_job
from pondage.views.jobs.jobs import JobRunDetail, find_run, job_run


class JobStart(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Variables of the context."""

    context: dict[str, object] = msgspec.field(default_factory=dict)


class JobResume(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether globals begin anew; with a job (and its code) the run goes on with that one, if its edits were seen."""

    fresh_globals: bool = False
    is_edited: bool = False
    job: StoredJob | None = None
    archive: bytes = b""


class JobRunBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job that need not be deployed, the code of its own components, and variables of the context."""

    job: StoredJob
    archive: bytes = b""
    context: dict[str, object] = msgspec.field(default_factory=dict)


class JobDifference(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job as it is now."""

    job: StoredJob


class EditedView(msgspec.Struct, frozen=True, kw_only=True):
    """Sub-jobs that an edited job changes, adds and removes."""

    changed: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """The run that has begun."""

    run: str


def _start(call: Call) -> Started:
    sent = call.sent(JobStart)
    with call.ledger.reading() as tx:
        stored = deployed_job(tx, call.ledger, call.environment, call.path["job"])
    run = jobs.start_job(
        call.ledger, call.environment, stored, context=sent.context, reason="by the API", by=call.by(sent.note)
    )
    return Started(run=run)


def _start_sent(call: Call) -> Started:
    sent = call.sent(JobRunBody)
    _check(call, sent.job, sent.archive)
    run = jobs.start_job(
        call.ledger,
        call.environment,
        sent.job,
        context=sent.context,
        archive=sent.archive,
        reason="by the API",
        by=call.by(sent.note),
    )
    return Started(run=run)


def _difference(call: Call) -> EditedView:
    sent = call.sent(JobDifference).job
    check_sent(sent, "$.job")
    found = jobs.resume_difference(call.ledger, call.environment, _found(call), sent)
    return EditedView(changed=tuple(found.changed), added=tuple(found.added), removed=tuple(found.removed))


def _kill(call: Call) -> JobRunDetail:
    found = _found(call)
    jobs.kill(call.ledger, call.environment, found, by=call.by(call.sent(Plain).note))
    with call.ledger.reading() as tx:
        return job_run(tx, call.ledger, call.environment, found)


def _resume(call: Call) -> Started:
    sent = call.sent(JobResume)
    if sent.job is not None:
        _check(call, sent.job, sent.archive)
    run = jobs.resume(
        call.ledger,
        call.environment,
        _found(call),
        job=sent.job,
        archive=sent.archive,
        is_edited=sent.is_edited,
        fresh_globals=sent.fresh_globals,
        is_intact=is_intact,
        by=call.by(sent.note),
    )
    return Started(run=run)


def _check(call: Call, job: StoredJob, archive: bytes) -> None:
    with call.ledger.reading() as tx:
        deployed = given(tx, call.environment).archives
    check_job(job, archive, deployed)


def _found(call: Call) -> str:
    with call.ledger.reading() as tx:
        return find_run(tx, call.environment, call.path["run"]).public_id


ROUTES = (
    Route(
        method="POST",
        path="/v1/jobs/{job}/runs",
        level=Level.OPERATE,
        handler=_start,
        request=JobStart,
        response=Started,
        summary="Run a deployed job.",
        status=202,
    ),
    Route(
        method="POST",
        path="/v1/jobs/runs",
        level=Level.OPERATE,
        handler=_start_sent,
        request=JobRunBody,
        response=Started,
        summary="Run a job that is sent with its code, deployed or not.",
        status=202,
        limit_bytes=LARGE,
    ),
    Route(
        method="POST",
        path="/v1/jobs/runs/{run}/difference",
        level=Level.READ,
        handler=_difference,
        request=JobDifference,
        response=EditedView,
        summary="What an edited job would do anew when a run goes on with it.",
        limit_bytes=LARGE,
    ),
    Route(
        method="POST",
        path="/v1/jobs/runs/{run}/kill",
        level=Level.OPERATE,
        handler=_kill,
        request=Plain,
        response=JobRunDetail,
        summary="End a run of a job; the second time at once.",
    ),
    Route(
        method="POST",
        path="/v1/jobs/runs/{run}/resume",
        level=Level.OPERATE,
        handler=_resume,
        request=JobResume,
        response=Started,
        summary="Go on with a run that failed or was killed: a new run.",
        status=202,
        limit_bytes=LARGE,
    ),
)
