"""Routes that run jobs: start a deployed one, kill a run, go on with one that failed."""

from __future__ import annotations

import msgspec

from pondage.engine.local import is_intact
from pondage.ledger import jobs
from pondage.ledger.job_deploys import deployed_job
from pondage.server.demanding import Plain
from pondage.server.levels import Level
from pondage.server.table import Call, Route
from pondage.views.jobs import JobRunDetail, find_run, job_run


class JobStart(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Variables of the context."""

    context: dict[str, object] = msgspec.field(default_factory=dict)


class JobResume(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether globals begin anew."""

    fresh_globals: bool = False


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """The run that has begun."""

    run: str


def _start(call: Call) -> Started:
    sent = call.sent(JobStart)
    with call.ledger.reading() as tx:
        stored = deployed_job(tx, call.ledger, call.environment, call.path["job"])
    run = jobs.start_job(
        call.ledger, call.environment, stored, context=sent.context, reason="by the API", who=call.who, note=sent.note
    )
    return Started(run=run)


def _kill(call: Call) -> JobRunDetail:
    found = _found(call)
    jobs.kill(call.ledger, call.environment, found, who=call.who, note=call.sent(Plain).note)
    with call.ledger.reading() as tx:
        return job_run(tx, call.ledger, call.environment, found)


def _resume(call: Call) -> Started:
    sent = call.sent(JobResume)
    run = jobs.resume(
        call.ledger,
        call.environment,
        _found(call),
        fresh_globals=sent.fresh_globals,
        is_intact=is_intact,
        who=call.who,
        note=sent.note,
    )
    return Started(run=run)


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
    ),
)
