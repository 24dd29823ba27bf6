"""Looking at Ponds and their tables: how they are, why, what they show, where it is from, how it was checked."""

from __future__ import annotations

from typing import Annotated

import msgspec

from pondage.engine.live.client import NoLiveHost, client_of
from pondage.errors import PondageError
from pondage.ledger.tables import actors
from pondage.operations.operation import Context, Count, Level, LimitRequest, Moment, Request, operation
from pondage.views import find
from pondage.views.installation.graph import GraphView
from pondage.views.installation.graph import graph as read_graph
from pondage.views.ponds.checks import ChecksView, read_checks
from pondage.views.ponds.lineage import read_lineage
from pondage.views.ponds.lineage_data import Direction, LineageView
from pondage.views.ponds.rhythm import RhythmView
from pondage.views.ponds.rhythm import rhythm as read_rhythm
from pondage.views.ponds.show import PondShow, SnapshotShow
from pondage.views.ponds.show import show as read_show
from pondage.views.ponds.status import StatusView
from pondage.views.ponds.status import status as read_status
from pondage.views.ponds.trend import TrendView
from pondage.views.ponds.trend import trend as read_trend
from pondage.views.ponds.why import WhyView
from pondage.views.ponds.why import why as explain
from pondage.views.reactors.reactors import ReactorWhyView, named_reactor, state_of, stream_faults, why_reactor
from pondage.views.runs.logs import with_found_logs
from pondage.views.runs.runs import RunDetailView


class StatusRequest(Request, frozen=True, kw_only=True):
    """Only one Pond, only some (`sales,orders`), or at most so many."""

    pond: str | None = None
    ponds: Annotated[str, msgspec.Meta(min_length=1, max_length=5_000)] | None = None
    most: Annotated[int, msgspec.Meta(ge=1, le=10_000)] | None = None


class NameRequest(Request, frozen=True, kw_only=True):
    """Who or what, by its name."""

    name: str


class SubjectRequest(Request, frozen=True, kw_only=True):
    """What is meant: a Pond, a Run, a snapshot."""

    subject: str


class LineageRequest(SubjectRequest, frozen=True, kw_only=True):
    """Which way, and whether with columns."""

    direction: Direction = "both"
    columns: bool = False


class ChecksRequest(Request, frozen=True, kw_only=True):
    """Whose expectations, and how many of their last results."""

    subject: str | None = None
    most: Count = 10


class TrendRequest(LimitRequest, frozen=True, kw_only=True):
    """A Pond, and how many of its Runs."""

    pond: str


class SpanRequest(Request, frozen=True, kw_only=True):
    """From a moment (microseconds) to another one, or to now."""

    since: Moment
    until: Moment | None = None


@operation("GET /v1/status", Level.READ, StatusRequest)
def status(context: Context, asked: StatusRequest) -> StatusView:
    """Every Pond, as `pondage status --json`."""
    named = [*([asked.pond] if asked.pond else []), *(asked.ponds.split(",") if asked.ponds else [])]
    with context.ledger.reading() as tx:
        keys = find.keys(tx, context.environment, named) if named else None
        return read_status(tx, context.ledger, context.environment, keys=keys, most=asked.most)


@operation("GET /v1/why/{name}", Level.READ, NameRequest)
def why(context: Context, asked: NameRequest) -> WhyView | ReactorWhyView:
    """Why a Pond or a reactor runs, or does not."""
    with context.ledger.reading() as tx:
        environment = actors.environment(tx, context.environment)
        row = None if environment is None else named_reactor(tx, environment, asked.name)
        if row is None:
            return explain(tx, context.ledger, context.environment, asked.name)
        faults = stream_faults(tx, row)
    try:
        state = client_of(context.ledger, row.environment, row.name, patience_s=1.0).look("state")
    except NoLiveHost:
        return why_reactor(row, None, faults)
    except PondageError as error:
        return why_reactor(row, None, faults, answer=error.message)
    return why_reactor(row, state_of(state), faults)


@operation("GET /v1/show/{subject}", Level.READ, SubjectRequest)
def show(context: Context, asked: SubjectRequest) -> PondShow | RunDetailView | SnapshotShow:
    """A Pond, a Run or a snapshot in full."""
    with context.ledger.reading() as tx:
        found = read_show(tx, context.environment, asked.subject)
    return with_found_logs(found, context.warehouse) if isinstance(found, RunDetailView) else found


@operation("GET /v1/lineage/{subject}", Level.READ, LineageRequest)
def lineage(context: Context, asked: LineageRequest) -> LineageView:
    """Where a table comes from and goes."""
    with context.ledger.reading() as tx:
        return read_lineage(
            tx, context.environment, asked.subject, direction=asked.direction, has_columns=asked.columns
        )


@operation("GET /v1/checks", Level.READ, ChecksRequest)
def checks(context: Context, asked: ChecksRequest) -> ChecksView:
    """How the expectations went."""
    with context.ledger.reading() as tx:
        return read_checks(tx, context.ledger, context.environment, subject=asked.subject, most=asked.most)


@operation("GET /v1/ponds/{pond}/trend", Level.READ, TrendRequest)
def trend(context: Context, asked: TrendRequest) -> TrendView:
    """A Pond over its last Runs."""
    with context.ledger.reading() as tx:
        return read_trend(tx, context.environment, asked.pond, most=asked.limit)


@operation("GET /v1/rhythm", Level.READ, SpanRequest)
def rhythm(context: Context, asked: SpanRequest) -> RhythmView:
    """How often Ponds ran, and what a schedule would have done."""
    given = None if context.project is None else context.project.compare
    compare = None if given is None or given.schedule is None else (given.schedule, given.tz)
    with context.ledger.reading() as tx:
        until = tx.now if asked.until is None else asked.until
        return read_rhythm(tx, context.environment, since=asked.since, until=until, compare=compare)


@operation("GET /v1/graph", Level.READ, Request)
def graph(context: Context, _: Request) -> GraphView:
    """What is deployed, and how it hangs together."""
    with context.ledger.reading() as tx:
        return read_graph(tx, context.ledger, context.environment)
