"""Routes that read: each answers the object that the command line prints with `--json`."""

from __future__ import annotations

from typing import Annotated

import msgspec

import pondage
from pondage.ledger.tables import actors
from pondage.server.levels import Level
from pondage.server.problems import Refused
from pondage.server.relay import state_or_none
from pondage.server.table import AnyOf, Call, Handler, Moment, Nothing, Route
from pondage.views import find
from pondage.views.installation.about import AboutView
from pondage.views.installation.environments import (
    EnvironmentDetailView,
    EnvironmentsView,
    all_environments,
    environment,
)
from pondage.views.installation.graph import GraphView, graph
from pondage.views.jobs import jobs as job_views
from pondage.views.plans.deployments import DeploymentsView, deployments
from pondage.views.ponds.checks import ChecksView, read_checks
from pondage.views.ponds.lineage import read_lineage
from pondage.views.ponds.lineage_data import Direction, LineageView
from pondage.views.ponds.rhythm import RhythmView, rhythm
from pondage.views.ponds.show import PondShow, SnapshotShow, show
from pondage.views.ponds.status import StatusView, status
from pondage.views.ponds.trend import TrendView, trend
from pondage.views.ponds.why import WhyView, why
from pondage.views.reactors.reactors import ReactorWhyView, named_reactor, stream_faults, why_reactor
from pondage.views.runs import runs as run_views
from pondage.views.runs.logs import LogsView, locate, with_found_logs, with_lines
from pondage.views.runs.processes import ProcessView, alive

Count = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class StatusQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Only one Pond, only some (`sales,orders`), or at most so many."""

    pond: str | None = None
    ponds: Annotated[str, msgspec.Meta(min_length=1, max_length=5_000)] | None = None
    most: Annotated[int, msgspec.Meta(ge=1, le=10_000)] | None = None


class RunsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which Runs."""

    pond: str | None = None
    state: str | None = None
    limit: Count = 20


class LogsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose lines, and how many of the last."""

    subject: str | None = None
    ripple: str | None = None
    lines: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 200


class LineageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which way, and whether with columns."""

    direction: Direction = "both"
    columns: bool = False


class JobsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which runs of jobs."""

    job: str | None = None
    limit: Count = 20


class LimitQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many, the newest."""

    limit: Count = 20


class SpanQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From a moment (microseconds) to another one, or to now."""

    since: Moment
    until: Moment | None = None


class ChecksQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose expectations, and how many of their last results."""

    subject: str | None = None
    most: Count = 10


class HealthView(msgspec.Struct, frozen=True, kw_only=True):
    """The server is up and its ledger answers."""

    ok: bool
    at: int


def _health(call: Call) -> HealthView:
    with call.ledger.reading() as tx:
        return HealthView(ok=True, at=tx.now)


def _about(call: Call) -> AboutView:
    with call.ledger.reading() as tx:
        at = tx.now
    warehouse = str(call.service.warehouse)
    return AboutView(version=str(pondage.__version__), environment=call.environment, warehouse=warehouse, at=at)


def _checks(call: Call) -> ChecksView:
    query = call.asked(ChecksQuery)
    with call.ledger.reading() as tx:
        return read_checks(tx, call.ledger, call.environment, subject=query.subject, most=query.most)


def _environments(call: Call) -> EnvironmentsView:
    with call.ledger.reading() as tx:
        every = all_environments(tx).environments
    return EnvironmentsView(environments=tuple(each for each in every if _may_see(call, each.name)))


def _one_environment(call: Call) -> EnvironmentDetailView:
    name = call.path["name"]
    if not _may_see(call, name):
        raise Refused(404, "NO_ENVIRONMENT", f"there is no environment {name[:63]!r}", hint="pondage env list")
    with call.ledger.reading() as tx:
        return environment(tx, name)


def _may_see(call: Call, name: str) -> bool:
    return call.token is not None and call.token.may_see(name)


def _status(call: Call) -> StatusView:
    query = call.asked(StatusQuery)
    with call.ledger.reading() as tx:
        named = [*([query.pond] if query.pond else []), *(query.ponds.split(",") if query.ponds else [])]
        keys = find.keys(tx, call.environment, named) if named else None
        return status(tx, call.environment, keys=keys, most=query.most)


def _why(call: Call) -> WhyView | ReactorWhyView:
    name = call.path["name"]
    with call.ledger.reading() as tx:
        found = actors.environment(tx, call.environment)
        row = None if found is None else named_reactor(tx, found, name)
        if row is None:
            return why(tx, call.ledger, call.environment, name)
        faults = stream_faults(tx, row)
    return why_reactor(row, state_or_none(call, row), faults)


def _runs(call: Call) -> run_views.RunsView:
    query = call.asked(RunsQuery)
    with call.ledger.reading() as tx:
        return run_views.runs(tx, call.environment, pond=query.pond, state=query.state, limit=query.limit)


def _run(call: Call) -> run_views.RunDetailView:
    with call.ledger.reading() as tx:
        found = run_views.run(tx, call.environment, call.path["run"])
    return with_found_logs(found, call.service.warehouse)


def _show(call: Call) -> object:
    with call.ledger.reading() as tx:
        found = show(tx, call.environment, call.path["subject"])
    return with_found_logs(found, call.service.warehouse) if isinstance(found, run_views.RunDetailView) else found


def _logs(call: Call) -> LogsView:
    query = call.asked(LogsQuery)
    with call.ledger.reading() as tx:
        found = locate(tx, call.environment, query.subject, ripple=query.ripple)
    return with_lines(found, call.service.warehouse, most=query.lines)


def _lineage(call: Call) -> LineageView:
    query = call.asked(LineageQuery)
    with call.ledger.reading() as tx:
        return read_lineage(
            tx, call.environment, call.path["subject"], direction=query.direction, has_columns=query.columns
        )


def _deployments(call: Call) -> DeploymentsView:
    with call.ledger.reading() as tx:
        return deployments(tx, call.environment, limit=call.asked(LimitQuery).limit)


def _jobs(call: Call) -> job_views.JobsView:
    query = call.asked(JobsQuery)
    with call.ledger.reading() as tx:
        return job_views.jobs(tx, call.ledger, call.environment, job=query.job, limit=query.limit)


def _job_run(call: Call) -> job_views.JobRunDetail:
    with call.ledger.reading() as tx:
        return job_views.job_run(tx, call.ledger, call.environment, call.path["run"])


def _trend(call: Call) -> TrendView:
    with call.ledger.reading() as tx:
        return trend(tx, call.environment, call.path["pond"], most=call.asked(LimitQuery).limit)


def _graph(call: Call) -> GraphView:
    with call.ledger.reading() as tx:
        return graph(tx, call.ledger, call.environment)


def _rhythm(call: Call) -> RhythmView:
    span, project = call.asked(SpanQuery), call.service.project
    cron = None if project is None else project.compare.schedule
    compare = None if project is None or cron is None else (cron, project.compare.tz)
    with call.ledger.reading() as tx:
        until = tx.now if span.until is None else span.until
        return rhythm(tx, call.environment, since=span.since, until=until, compare=compare)


def _processes(call: Call) -> tuple[ProcessView, ...]:
    with call.ledger.reading() as tx:
        return alive(tx)


def _get(
    path: str, handler: Handler, response: object, summary: str, *, query: type[msgspec.Struct] = Nothing
) -> Route:
    return Route(
        method="GET", path=path, level=Level.READ, handler=handler, response=response, summary=summary, query=query
    )


ROUTES = (
    Route(
        method="GET",
        path="/healthz",
        level=Level.OPEN,
        handler=_health,
        response=HealthView,
        summary="Whether the server is up and its ledger answers.",
    ),
    _get("/v1/about", _about, AboutView, "Who answers, and about which environment."),
    _get("/v1/checks", _checks, ChecksView, "How the expectations went.", query=ChecksQuery),
    _get("/v1/environments", _environments, EnvironmentsView, "The environments that the token is bound to."),
    _get("/v1/environments/{name}", _one_environment, EnvironmentDetailView, "Where each Pond of one is read from."),
    _get("/v1/status", _status, StatusView, "Every Pond, as `pondage status --json`.", query=StatusQuery),
    _get("/v1/why/{name}", _why, AnyOf(WhyView, ReactorWhyView), "Why a Pond or a reactor runs, or does not."),
    _get("/v1/runs", _runs, run_views.RunsView, "The newest Runs.", query=RunsQuery),
    _get("/v1/runs/{run}", _run, run_views.RunDetailView, "A Run in full."),
    _get(
        "/v1/show/{subject}",
        _show,
        AnyOf(PondShow, run_views.RunDetailView, SnapshotShow),
        "A Pond, a Run or a snapshot in full.",
    ),
    _get("/v1/logs", _logs, LogsView, "What Ripples logged.", query=LogsQuery),
    _get("/v1/lineage/{subject}", _lineage, LineageView, "Where a table comes from and goes.", query=LineageQuery),
    _get("/v1/deployments", _deployments, DeploymentsView, "The newest deployments and their plans.", query=LimitQuery),
    _get("/v1/jobs", _jobs, job_views.JobsView, "Deployed jobs and the newest runs of jobs.", query=JobsQuery),
    _get("/v1/jobs/runs/{run}", _job_run, job_views.JobRunDetail, "A run of a job in full."),
    _get(
        "/v1/rhythm", _rhythm, RhythmView, "How often Ponds ran, and what a schedule would have done.", query=SpanQuery
    ),
    _get("/v1/ponds/{pond}/trend", _trend, TrendView, "A Pond over its last Runs.", query=LimitQuery),
    _get("/v1/graph", _graph, GraphView, "What is deployed, and how it hangs together."),
    _get("/v1/processes", _processes, tuple[ProcessView, ...], "Who is alive."),
)
