"""Routes for whoever watches over everything: the timeline and simulations beside it, the open work, the audit."""

from __future__ import annotations

from typing import Annotated

import msgspec

from pondage.server.demanding import Plain
from pondage.server.levels import Level
from pondage.server.problems import Refused
from pondage.server.table import Call, Moment, Route
from pondage.views.installation.audit import AuditView, audit
from pondage.views.jobs.job_graph import JobGraphView, job_graph
from pondage.views.plans.saved_simulations import (
    MOST_SPANS,
    KeptSimulation,
    SavedLine,
    SavedSimulation,
    SavedSimulations,
    SavedSpan,
    keep,
    saved,
    saved_one,
)
from pondage.views.plans.simulation import SimulationFacts, facts
from pondage.views.runs.timeline import TimelineView, timeline
from pondage.views.runs.work import WorkListView, work

LARGEST = 2 * 1024 * 1024
LONGEST_US = 31 * 86_400_000_000


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which acts; `before` goes on behind a page."""

    verb: str | None = None
    target: str | None = None
    before: Moment | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


class TimelineQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From when to when, in microseconds; until now when nothing else is said, and at most 31 days."""

    since: Moment
    until: Moment | None = None


class SimulationBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A simulation that was played elsewhere, to be looked at beside what really happens."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    start: Moment
    length_us: Moment
    triggers: Annotated[tuple[Annotated[str, msgspec.Meta(max_length=500)], ...], msgspec.Meta(max_length=1_000)] = ()
    spans: Annotated[tuple[SavedSpan, ...], msgspec.Meta(max_length=MOST_SPANS)] = ()
    has_more: bool = False


def _audit(call: Call) -> AuditView:
    asked = call.asked(AuditQuery)
    with call.ledger.reading() as tx:
        return audit(tx, call.environment, verb=asked.verb, target=asked.target, before=asked.before, limit=asked.limit)


def _timeline(call: Call) -> TimelineView:
    asked = call.asked(TimelineQuery)
    with call.ledger.reading() as tx:
        if (asked.until or tx.now) - asked.since > LONGEST_US:
            raise Refused(400, "TOO_LONG", "a timeline is at most 31 days long", place="$.since")
        return timeline(tx, call.environment, since=asked.since, until=asked.until)


def _work(call: Call) -> WorkListView:
    with call.ledger.reading() as tx:
        return work(tx, call.environment)


def _job_graph(call: Call) -> JobGraphView:
    with call.ledger.reading() as tx:
        return job_graph(tx, call.ledger, call.environment, call.path["run"])


def _facts(call: Call) -> SimulationFacts:
    with call.ledger.reading() as tx:
        return facts(tx, call.ledger, call.environment)


def _keep(call: Call) -> SavedLine:
    sent = call.sent(SimulationBody)
    kept = KeptSimulation(
        name=sent.name,
        start=sent.start,
        length_us=sent.length_us,
        triggers=sent.triggers,
        spans=sent.spans,
        has_more=sent.has_more,
    )
    with call.ledger.transaction() as tx:
        return keep(tx, call.environment, kept, by=call.by(sent.note))


def _simulations(call: Call) -> SavedSimulations:
    with call.ledger.reading() as tx:
        return saved(tx, call.environment)


def _simulation(call: Call) -> SavedSimulation:
    with call.ledger.reading() as tx:
        return saved_one(tx, call.environment, call.path["simulation"])


ROUTES = (
    Route(
        method="GET",
        path="/v1/audit",
        level=Level.READ,
        handler=_audit,
        response=AuditView,
        query=AuditQuery,
        summary="Who changed what, newest first.",
    ),
    Route(
        method="GET",
        path="/v1/timeline",
        level=Level.READ,
        handler=_timeline,
        response=TimelineView,
        query=TimelineQuery,
        summary="Runs, runs of jobs, deploys and acts between two moments, and what schedules do next.",
    ),
    Route(
        method="GET",
        path="/v1/work",
        level=Level.READ,
        handler=_work,
        response=WorkListView,
        summary="What each process holds, and why the rest waits.",
    ),
    Route(
        method="GET",
        path="/v1/jobs/runs/{run}/graph",
        level=Level.READ,
        handler=_job_graph,
        response=JobGraphView,
        summary="The components of a job run's plan, and the edges between them.",
    ),
    Route(
        method="GET",
        path="/v1/simulations",
        level=Level.READ,
        handler=_simulations,
        response=SavedSimulations,
        summary="Simulations that were kept with `pondage simulate --save`, newest first.",
    ),
    Route(
        method="POST",
        path="/v1/simulations",
        level=Level.OPERATE,
        handler=_keep,
        request=SimulationBody,
        response=SavedLine,
        summary="Keep a simulation that was played elsewhere.",
        status=201,
        limit_bytes=LARGEST,
    ),
    Route(
        method="GET",
        path="/v1/simulation-facts",
        level=Level.READ,
        handler=_facts,
        response=SimulationFacts,
        summary="What a simulation begins with: definitions, standing triggers and recorded durations.",
    ),
    Route(
        method="GET",
        path="/v1/simulations/{simulation}",
        level=Level.READ,
        handler=_simulation,
        response=SavedSimulation,
        summary="A kept simulation with its Runs.",
    ),
)
