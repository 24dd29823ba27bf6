"""What people do to backfills: start one, pause it, let it go on, cancel it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pondage.define.pond.definition import PondDefinition
from pondage.define.pond.partition import Partition
from pondage.errors import NotFound, PondageError
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import advance
from pondage.ledger.tables import actors, backfills, history
from pondage.ledger.tables.actors import PondRow
from pondage.ledger.tables.backfills import (
    BackfillEvent,
    BackfillRow,
    CancelBackfill,
    PauseBackfill,
    ResumeBackfill,
)
from pondage.ledger.tables.environments import environment_id
from pondage.ledger.tables.history import Caller


def start(
    ledger: Ledger,
    environment: str,
    pond: str,
    *,
    chunks: Sequence[Sequence[Partition]],
    request: str = "",
    stops: bool = False,
    by: Caller | None = None,
) -> str:
    """Have a Pond compute these partitions again, each of the `chunks` in a Run of its own; answer what it is called.

    Raises `NotFound` for a Pond that is not deployed, and `PondageError` when there is nothing that it could compute
    again in parts.
    """
    with ledger.transaction() as tx:
        identity = environment_id(tx, environment)
        row = backfillable(tx, ledger, identity, pond)
        public_id = ledger.ids.new("b")
        actor = backfills.insert(
            tx,
            public_id=public_id,
            environment=identity,
            pond=row.id,
            code=_code(tx, ledger, row),
            columns=_columns(ledger.definition(tx, row.definition)),
            request=request,
            note="" if by is None else by.note,
            stops=stops,
            chunks=chunks,
        )
        backfills.tell(tx, actor, ResumeBackfill(code=_code(tx, ledger, row)))
        history.audit(tx, by, environment=identity, verb="backfill", target=row.key, detail=f"{public_id} {request}")
        advance.inline(tx, ledger, actor, process=None)
    return public_id


def backfillable(tx: Transaction, ledger: Ledger, environment: int, pond: str) -> PondRow:
    """Answer a Pond whose table can be computed again in parts; raises `NotFound` or `PondageError` for any other."""
    row = actors.pond(tx, environment, pond)
    if row is None:
        raise NotFound(f"there is no Pond {pond} to compute again", hint="pondage status", code="NO_POND")
    definition = ledger.definition(tx, row.definition)
    if definition.borrowed:
        raise PondageError(
            f"{row.key} is not deployed here: it shows the tables of the environment above",
            hint="run the backfill there, or deploy the Pond here first",
            code="BORROWED",
        )
    if definition.mode != "partition":
        raise PondageError(
            f'{row.key} has mode="{definition.mode}", and only tables with mode="partition" can be computed in parts',
            hint=f"pondage force {definition.name} --full computes all of it again",
            code="NO_BACKFILL",
        )
    return row


def _code(tx: Transaction, ledger: Ledger, pond: PondRow) -> str:
    return backfills.code_of(ledger.definition(tx, pond.definition))


def _columns(definition: PondDefinition) -> tuple[str, ...]:
    return () if definition.partition is None else definition.partition.texts


def pause(ledger: Ledger, environment: str, public_id: str, *, by: Caller | None = None) -> BackfillRow:
    """Let the chunk that runs finish, and send no other until `resume`. Nothing changes when it is paused already."""
    return _tell(ledger, environment, public_id, lambda *_: PauseBackfill(), verb="backfill pause", by=by)


def resume(ledger: Ledger, environment: str, public_id: str, *, by: Caller | None = None) -> BackfillRow:
    """Go on with the chunks that wait, with the code that is deployed now."""

    def resumed(tx: Transaction, row: BackfillRow) -> ResumeBackfill:
        pond = actors.pond(tx, row.environment, row.pond)
        return ResumeBackfill(code=row.code if pond is None else _code(tx, ledger, pond))

    return _tell(ledger, environment, public_id, resumed, verb="backfill resume", by=by)


def cancel(ledger: Ledger, environment: str, public_id: str, *, by: Caller | None = None) -> BackfillRow:
    """Stop the chunk that runs and give up the others; what was computed stays."""
    return _tell(ledger, environment, public_id, lambda *_: CancelBackfill(), verb="backfill cancel", by=by)


def _tell(
    ledger: Ledger,
    environment: str,
    public_id: str,
    event: Callable[[Transaction, BackfillRow], BackfillEvent],
    *,
    verb: str,
    by: Caller | None,
) -> BackfillRow:
    with ledger.transaction() as tx:
        identity = environment_id(tx, environment)
        row = backfills.by_public_id(tx, identity, public_id)
        if row is None:
            raise NotFound(
                f"there is no backfill {public_id} in environment {environment}",
                hint="pondage backfill list",
                code="NO_BACKFILL",
            )
        if not row.is_open:
            raise PondageError(
                f"backfill {public_id} is over: {row.state}",
                hint=f"pondage backfill show {public_id}",
                code="BACKFILL_OVER",
            )
        backfills.tell(tx, row.actor, event(tx, row))
        history.audit(tx, by, environment=identity, verb=verb, target=row.pond, detail=public_id)
        advance.inline(tx, ledger, row.actor, process=None)
        return backfills.of_actor(tx, row.actor)
