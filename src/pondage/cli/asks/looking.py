"""Asks that look at Ponds, Runs and tables."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pondage.cli.client.desk import LOOK_EVERY_S, asks, streams
from pondage.cli.client.session import Session
from pondage.engine.live.client import NoLiveHost, client_of
from pondage.ledger.tables import actors
from pondage.views import find
from pondage.views.ponds.checks import ChecksView, read_checks
from pondage.views.ponds.lineage import read_lineage
from pondage.views.ponds.lineage_data import Direction, LineageView
from pondage.views.ponds.show import PondShow, SnapshotShow
from pondage.views.ponds.show import show as read_show
from pondage.views.ponds.status import StatusView
from pondage.views.ponds.status import status as read_status
from pondage.views.ponds.why import WhyView
from pondage.views.ponds.why import why as explain
from pondage.views.reactors.reactors import ReactorWhyView, named_reactor, state_of, stream_faults, why_reactor
from pondage.views.runs import runs as run_views
from pondage.views.runs.logs import LogLine, LogsView, locate, read_lines, with_found_logs, with_lines


class LogBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Lines that were written at about the same time."""

    lines: list[LogLine]


@asks("GET /v1/status")
def status(here: Session, *, ponds: str | None = None, most: int | None = None) -> StatusView:
    """Ask for all Ponds, at most so many, or for some (`sales,orders`)."""
    with here.ledger.reading() as tx:
        keys = None if ponds is None else find.keys(tx, here.environment, ponds.split(","))
        return read_status(tx, here.environment, keys=keys, most=most)


@asks("GET /v1/why/{name}")
def why(here: Session, *, name: str) -> WhyView | ReactorWhyView:
    """Ask why a Pond or a reactor runs, or does not."""
    with here.ledger.reading() as tx:
        environment = actors.environment(tx, here.environment)
        row = None if environment is None else named_reactor(tx, environment, name)
        if row is None:
            return explain(tx, here.ledger, here.environment, name)
        faults = stream_faults(tx, row)
    try:
        state = client_of(here.ledger, row.environment, row.name, patience_s=1.0).ask(op="state")["state"]
    except NoLiveHost:
        return why_reactor(row, None)
    return why_reactor(row, state_of(state), faults)


@asks("GET /v1/runs")
def runs(here: Session, *, pond: str | None = None, state: str | None = None, limit: int = 20) -> run_views.RunsView:
    """Ask for the newest Runs."""
    with here.ledger.reading() as tx:
        return run_views.runs(tx, here.environment, pond=pond, state=state, limit=limit)


@asks("GET /v1/show/{subject}")
def show(here: Session, *, subject: str) -> PondShow | run_views.RunDetailView | SnapshotShow:
    """Ask for a Pond, a Run or a snapshot in full."""
    with here.ledger.reading() as tx:
        found = read_show(tx, here.environment, subject)
    return with_found_logs(found, here.warehouse) if isinstance(found, run_views.RunDetailView) else found


@asks("GET /v1/logs")
def logs(here: Session, *, subject: str | None = None, ripple: str | None = None, lines: int = 200) -> LogsView:
    """Ask for the last lines that Ripples logged."""
    with here.ledger.reading() as tx:
        found = locate(tx, here.environment, subject, ripple=ripple)
    return with_lines(found, here.warehouse, most=lines)


@asks("GET /v1/lineage/{subject}")
def lineage(here: Session, *, subject: str, direction: Direction = "both", columns: bool = False) -> LineageView:
    """Ask where a table comes from and goes."""
    with here.ledger.reading() as tx:
        return read_lineage(tx, here.environment, subject, direction=direction, has_columns=columns)


@asks("GET /v1/checks")
def checks(here: Session, *, subject: str | None = None, most: int = 10) -> ChecksView:
    """Ask how the expectations went."""
    with here.ledger.reading() as tx:
        return read_checks(tx, here.ledger, here.environment, subject=subject, most=most)


@streams("/v1/ws/logs")
def log_lines(here: Session, *, subject: str | None, ripple: str | None, lines: int) -> Iterator[LogBatch]:
    """Follow what Ripples log: the last lines, then every new one, in new logs too."""
    changes = here.ledger.driver.changes()
    offsets: dict[str, int] = {}
    batch = _new_lines(here, subject, ripple, offsets)
    yield LogBatch(lines=batch[-lines:] if lines else [])
    while True:
        changes.wait(LOOK_EVERY_S)
        if batch := _new_lines(here, subject, ripple, offsets):
            yield LogBatch(lines=batch)


def _new_lines(here: Session, subject: str | None, ripple: str | None, offsets: dict[str, int]) -> list[LogLine]:
    """Answer what was written since the last look; `offsets` remembers how far each log was read."""
    with here.ledger.reading() as tx:
        view = locate(tx, here.environment, subject, ripple=ripple)
    found: list[LogLine] = []
    for file in view.files:
        lines, offsets[file.path] = read_lines(here.warehouse, file, offset=offsets.get(file.path, 0))
        found += lines
    return found
