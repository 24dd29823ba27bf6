"""Looking at Runs and at the work of processes: what ran when, what it logged, what is held and what waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from pondage.errors import PondageError
from pondage.operations.operation import Context, Level, LimitRequest, Request, operation, stream
from pondage.operations.ponds import SpanRequest
from pondage.views.runs.logs import LogLine, LogsView, locate, read_lines, with_found_logs, with_lines
from pondage.views.runs.processes import ProcessView, alive
from pondage.views.runs.runs import RunDetailView, RunsView
from pondage.views.runs.runs import run as read_run
from pondage.views.runs.runs import runs as read_runs
from pondage.views.runs.timeline import TimelineView
from pondage.views.runs.timeline import timeline as read_timeline
from pondage.views.runs.work import WorkListView
from pondage.views.runs.work import work as read_work

LOOK_EVERY_S = 0.5
MOST_LINES = 1_000
"""How many lines one message has at most."""
LONGEST_US = 31 * 86_400_000_000


class RunsRequest(LimitRequest, frozen=True, kw_only=True):
    """Which Runs."""

    pond: str | None = None
    state: str | None = None


class RunRequest(Request, frozen=True, kw_only=True):
    """A Run: `sales#12`, or its id."""

    run: str


class LogsRequest(Request, frozen=True, kw_only=True):
    """Whose lines, and how many of the last."""

    subject: str | None = None
    ripple: str | None = None
    lines: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 200


class LogBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Lines that were written at about the same time."""

    lines: list[LogLine]


class LogReader:
    """Remembers how far each log was read, so that no line is lost or said twice."""

    def __init__(self, context: Context, asked: LogsRequest) -> None:
        self._context = context
        self._asked = asked
        self._offsets: dict[str, int] | None = None

    def batches(self) -> list[LogBatch]:
        """Answer the last lines at first, then what was written since the last look, in new logs too."""
        is_first, offsets = self._offsets is None, self._offsets or {}
        with self._context.ledger.reading() as tx:
            view = locate(tx, self._context.environment, self._asked.subject, ripple=self._asked.ripple)
        found: list[LogLine] = []
        for file in view.files:
            lines, offsets[file.path] = read_lines(self._context.warehouse, file, offset=offsets.get(file.path, 0))
            found += lines
        self._offsets = offsets
        if is_first:
            found = found[-self._asked.lines :] if self._asked.lines else []
        return [LogBatch(lines=found[start : start + MOST_LINES]) for start in range(0, len(found), MOST_LINES)]


@operation("GET /v1/runs", Level.READ, RunsRequest)
def runs(context: Context, asked: RunsRequest) -> RunsView:
    """The newest Runs."""
    with context.ledger.reading() as tx:
        return read_runs(tx, context.environment, pond=asked.pond, state=asked.state, limit=asked.limit)


@operation("GET /v1/runs/{run}", Level.READ, RunRequest)
def run_show(context: Context, asked: RunRequest) -> RunDetailView:
    """A Run in full."""
    with context.ledger.reading() as tx:
        found = read_run(tx, context.environment, asked.run)
    return with_found_logs(found, context.warehouse)


@operation("GET /v1/logs", Level.READ, LogsRequest)
def logs(context: Context, asked: LogsRequest) -> LogsView:
    """What Ripples logged."""
    with context.ledger.reading() as tx:
        found = locate(tx, context.environment, asked.subject, ripple=asked.ripple)
    return with_lines(found, context.warehouse, most=asked.lines)


@stream("/v1/ws/logs", Level.READ, LogsRequest)
def log_lines(context: Context, asked: LogsRequest) -> Iterator[LogBatch]:
    """The lines of a Pond's or a Run's Ripples as they are written."""
    changes = context.ledger.driver.changes()
    reader = LogReader(context, asked)
    try:
        while True:
            yield from reader.batches()
            changes.wait(LOOK_EVERY_S)
    finally:
        changes.close()


@operation("GET /v1/timeline", Level.READ, SpanRequest)
def timeline(context: Context, asked: SpanRequest) -> TimelineView:
    """Runs, runs of jobs, deploys and acts between two moments, and what schedules do next."""
    with context.ledger.reading() as tx:
        if (asked.until or tx.now) - asked.since > LONGEST_US:
            raise PondageError("a timeline is at most 31 days long", place="$.since", code="TOO_LONG")
        return read_timeline(tx, context.environment, since=asked.since, until=asked.until)


@operation("GET /v1/work", Level.READ, Request)
def work(context: Context, _: Request) -> WorkListView:
    """What each process holds, and why the rest waits."""
    with context.ledger.reading() as tx:
        return read_work(tx, context.ledger, context.environment)


@operation("GET /v1/processes", Level.READ, Request)
def processes(context: Context, _: Request) -> tuple[ProcessView, ...]:
    """Who is alive."""
    with context.ledger.reading() as tx:
        return alive(tx, context.ledger)
