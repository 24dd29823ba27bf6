"""Backfills: compute a part of the past again, look how far that is, pause it, let it go on, cancel it."""

from __future__ import annotations

import msgspec

from pondage.errors import NotFound, PondageError
from pondage.kernel.demand.state import decode_state
from pondage.ledger.act import backfills as acts
from pondage.ledger.data import snapshots
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import actors, backfills
from pondage.ledger.tables.actors import PondRow
from pondage.ledger.tables.backfills import BackfillRow
from pondage.operations.operation import Context, Level, LimitRequest, NotedRequest, Request, operation
from pondage.plan.backfill import Selection, chosen
from pondage.views import find
from pondage.views.ponds.backfills import (
    BackfillDetail,
    BackfillPlan,
    BackfillsView,
    BackfillView,
    failed_partitions,
    known_partitions,
    plan_view,
    summary,
    view,
)


class SelectionRequest(NotedRequest, frozen=True, kw_only=True):
    """Of which Pond, and which partitions: what is said must all hold."""

    pond: str
    first: str | None = None
    last: str | None = None
    where: str | None = None
    missing: bool = False
    failed: bool = False
    older_code: bool = False
    everything: bool = False
    each: str | None = None
    oldest_first: bool = False

    @property
    def selection(self) -> Selection:
        """Answer which partitions are meant."""
        return Selection(**{name: getattr(self, name) for name in Selection.__struct_fields__})


class PondRequest(Request, frozen=True, kw_only=True):
    """Of which Pond."""

    pond: str


class OlderCode(msgspec.Struct, frozen=True, kw_only=True):
    """How many partitions of a Pond were made by older code; none of a table without partitions."""

    pond: str
    partitions: int


class StartRequest(SelectionRequest, frozen=True, kw_only=True):
    """With `stop` it pauses at the first chunk that fails."""

    stop: bool = False


class BackfillRequest(Request, frozen=True, kw_only=True):
    """Which backfill."""

    backfill: str


class BackfillVerbRequest(NotedRequest, frozen=True, kw_only=True):
    """Which backfill, and why."""

    backfill: str


@operation("GET /v1/ponds/{pond}/backfill", Level.READ, SelectionRequest)
def backfill_plan(context: Context, asked: SelectionRequest) -> BackfillPlan:
    """What a backfill would compute, and how long that takes."""
    with context.ledger.reading() as tx:
        return _plan(context, tx, asked)[1]


@operation("GET /v1/ponds/{pond}/older-code", Level.READ, PondRequest)
def backfill_older_code(context: Context, asked: PondRequest) -> OlderCode:
    """How many partitions of a Pond other code than the one that is deployed has made."""
    with context.ledger.reading() as tx:
        row = find.pond(tx, find.environment_id(tx, context.environment), asked.pond)
        # While Runs of the former one are active the new one is not in force, but it is what counts.
        deploying = decode_state(row.state).deploying
        definition = context.ledger.definition(tx, row.definition if deploying is None else int(deploying))
        known = known_partitions(tx, definition, row.id)
        return OlderCode(pond=row.key, partitions=sum(each.is_older_code for each in known))


@operation("POST /v1/ponds/{pond}/backfill", Level.OPERATE, StartRequest)
def backfill_start(context: Context, asked: StartRequest) -> BackfillView:
    """Compute partitions of a Pond again, chunk by chunk."""
    with context.ledger.reading() as tx:
        row, plan = _plan(context, tx, asked)
    if not plan.chunks:
        raise PondageError(
            f"no partition of {row.key} is meant by {asked.selection.words}",
            hint=f"pondage show {row.key} lists its partitions",
            code="NOTHING_SELECTED",
        )
    public_id = acts.start(
        context.ledger,
        context.environment,
        row.key,
        chunks=plan.chunks,
        request=asked.selection.words,
        stops=asked.stop,
        by=context.by,
    )
    return _shown(context, public_id)


@operation("GET /v1/backfills", Level.READ, LimitRequest)
def backfill_list(context: Context, asked: LimitRequest) -> BackfillsView:
    """The newest backfills."""
    with context.ledger.reading() as tx:
        rows = backfills.newest(tx, find.environment_id(tx, context.environment), limit=asked.limit)
        return BackfillsView(at=tx.now, backfills=tuple(summary(tx, row) for row in rows))


@operation("GET /v1/backfills/{backfill}", Level.READ, BackfillRequest)
def backfill_show(context: Context, asked: BackfillRequest) -> BackfillDetail:
    """How far a backfill is, chunk by chunk."""
    with context.ledger.reading() as tx:
        return view(tx, _found(context, tx, asked.backfill))


@operation("POST /v1/backfills/{backfill}/pause", Level.OPERATE, BackfillVerbRequest)
def backfill_pause(context: Context, asked: BackfillVerbRequest) -> BackfillView:
    """Let the chunk that runs finish, and compute no other."""
    acts.pause(context.ledger, context.environment, asked.backfill, by=context.by)
    return _shown(context, asked.backfill)


@operation("POST /v1/backfills/{backfill}/resume", Level.OPERATE, BackfillVerbRequest)
def backfill_resume(context: Context, asked: BackfillVerbRequest) -> BackfillView:
    """Go on, with the code that is deployed now."""
    acts.resume(context.ledger, context.environment, asked.backfill, by=context.by)
    return _shown(context, asked.backfill)


@operation("POST /v1/backfills/{backfill}/cancel", Level.OPERATE, BackfillVerbRequest)
def backfill_cancel(context: Context, asked: BackfillVerbRequest) -> BackfillView:
    """Stop the chunk that runs, and compute no other."""
    acts.cancel(context.ledger, context.environment, asked.backfill, by=context.by)
    return _shown(context, asked.backfill)


def _plan(context: Context, tx: Transaction, asked: SelectionRequest) -> tuple[PondRow, BackfillPlan]:
    environment = find.environment_id(tx, context.environment)
    named = find.pond(tx, environment, asked.pond)
    row = acts.backfillable(tx, context.ledger, environment, named.key)
    definition = context.ledger.definition(tx, row.definition)
    assert definition.partition is not None
    known = known_partitions(tx, definition, row.id)
    if snapshots.current_run(tx, row.id) is None:
        raise PondageError(
            f"{row.key} has published nothing that could be computed again",
            hint=f"pondage run {row.key}",
            code="NEVER_PUBLISHED",
        )
    failed = failed_partitions(tx, row.id) if asked.failed else set()
    chunks = chosen(definition.partition, known, asked.selection, failed=failed)
    sinks = actors.sinks(tx, environment, row.key)
    return row, plan_view(tx, row.key, row.id, definition, chunks=chunks, known=known, sinks=sinks)


def _found(context: Context, tx: Transaction, public_id: str) -> BackfillRow:
    row = backfills.by_public_id(tx, find.environment_id(tx, context.environment), public_id)
    if row is None:
        raise NotFound(
            f"there is no backfill {public_id} in environment {context.environment}",
            hint="pondage backfill list",
            code="NO_BACKFILL",
        )
    return row


def _shown(context: Context, public_id: str) -> BackfillView:
    with context.ledger.reading() as tx:
        return summary(tx, _found(context, tx, public_id))
