"""Promoting: what an environment has made becomes what another one shows, without computing anything."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pondage.define.pond.contract import check_contract
from pondage.define.pond.definition import PondDefinition
from pondage.define.values.names import PondKey, table_key
from pondage.errors import LedgerError
from pondage.kernel.demand.events import Rollback
from pondage.ledger.act.branching import newest_definition
from pondage.ledger.data import manifests, snapshots
from pondage.ledger.database.driver import Transaction, numbered
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import advance, contracts
from pondage.ledger.step.actor import put_event
from pondage.ledger.tables import actors, environments, history
from pondage.ledger.tables.actors import PondRow
from pondage.ledger.tables.history import Caller
from pondage.plan.deploy.change import change_of
from pondage.plan.deploy.columns import column_problems


class CannotPromote(LedgerError):
    """What was asked for cannot become what the other environment shows."""

    code = "CANNOT_PROMOTE"


class Promoted(msgspec.Struct, frozen=True, kw_only=True):
    """One Pond that was promoted: the Run that is shown now, or as soon as an active Run has ended."""

    pond: PondKey
    run: str
    number: int
    freshness: int
    is_shown: bool


class _Current(msgspec.Struct, frozen=True, kw_only=True):
    """The Run that a Pond shows, to be shown elsewhere."""

    run: int
    public_id: str
    number: int
    freshness: int
    definition: int


def promote(
    ledger: Ledger, environment: str, to: str, ponds: Sequence[PondKey], *, by: Caller | None = None
) -> list[Promoted]:
    """Make the current Runs of these Ponds those that `to` shows, all or none; raises `CannotPromote`.

    Like a rollback it computes nothing; Ponds that read them in `to` are told where that makes them fresher.
    """
    with ledger.transaction() as tx:
        here, there = environments.find(tx, environment), environments.find(tx, to)
        if there.id not in [each.id for each in environments.chain(tx, here.id)[1:]]:
            raise CannotPromote(
                f"environment {environment} is not below {to}", hint="pondage env list", code="NOT_BELOW"
            )
        for each in sorted({here.id, there.id}):
            actors.lock_environment(tx, each)
        homes = {
            row.actor for key in ponds if (row := actors.pond(tx, there.id, key)) is not None and row.borrows is None
        }
        for actor in sorted(homes):
            actors.lock(tx, actor, is_waiting=True)
        offers = [_offer(tx, ledger, environment, here.id, to, there.id, key) for key in sorted(set(ponds))]
        for shown, pond in offers:
            event = Rollback(pond=pond.key, run=shown.public_id, freshness=shown.freshness)
            put_event(tx, actor=pond.actor, event=event)
            detail = f"{environment} {shown.public_id}"
            history.audit(tx, by, environment=there.id, verb="promote", target=pond.key, detail=detail)
        for actor in sorted({pond.actor for _, pond in offers}):
            advance.inline(tx, ledger, actor, process=None)
        return [
            Promoted(
                pond=pond.key,
                run=shown.public_id,
                number=shown.number,
                freshness=shown.freshness,
                is_shown=_shows(tx, pond.id, shown.run),
            )
            for shown, pond in offers
        ]


def definition_of(tx: Transaction, ledger: Ledger, environment: str, pond: PondKey) -> PondDefinition:
    """Answer the declaration that made what a Pond shows in an environment; raises `CannotPromote`."""
    here = environments.find(tx, environment)
    return ledger.definition(tx, _current(tx, ledger, environment, here.id, pond).definition)


def _offer(
    tx: Transaction, ledger: Ledger, environment: str, here: int, to: str, there: int, key: PondKey
) -> tuple[_Current, PondRow]:
    shown = _current(tx, ledger, environment, here, key)
    pond = actors.pond(tx, there, key)
    made_by = ledger.definition(tx, shown.definition)
    again = f"pondage promote {key} --env {environment} --to {to} --deploy"
    if pond is None or pond.borrows is not None:
        raise CannotPromote(f"{key} is not deployed in {to}", hint=again, code="NOT_DEPLOYED")
    change = change_of(newest_definition(tx, ledger, pond), made_by)
    if change is not None and change.runs:
        raise CannotPromote(
            f"{key} in {to} has other code than what made the Run in {environment}", hint=again, code="OTHER_CODE"
        )
    if _shows(tx, pond.id, shown.run):
        raise CannotPromote(f"{to} shows this Run of {key} already", hint=f"pondage runs {key} --env {environment}")
    _require_retained(tx, key, shown.run)
    _require_contract(tx, ledger, shown.run, environment, to, there, key)
    return shown, pond


def require_contracts(ledger: Ledger, environment: str, to: str, ponds: Sequence[PondKey]) -> None:
    """Raise `CannotPromote` when a table would break what its major version has promised the readers in `to`.

    For whoever deploys code there first: a promotion that is refused then would leave that behind.
    """
    with ledger.reading() as tx:
        here, there = environments.find(tx, environment), environments.find(tx, to)
        for key in ponds:
            shown = _current(tx, ledger, environment, here.id, key)
            _require_contract(tx, ledger, shown.run, environment, to, there.id, key)


def _require_contract(
    tx: Transaction, ledger: Ledger, run: int, environment: str, to: str, there: int, key: PondKey
) -> None:
    given = snapshots.outputs(tx, run)
    loaded = snapshots.load(tx, [output.snapshot for output in given.values()])
    schemas = {name: loaded[output.snapshot].content.schema for name, output in given.items()}
    before = contracts.promised(tx, there, key)
    for name, schema in schemas.items():
        known = before.get(name) or contracts.promised_above(tx, there, key, name)
        differences = [] if known is None else check_contract(known, schema)
        if differences:
            raise CannotPromote(
                f"{key}.{name} breaks the contract that it has in {to}: {'; '.join(differences)}",
                hint="keep the columns, or raise the Pond's major version so that Sinks can choose when to follow",
                code="CONTRACT",
            )
    tables = {table_key(key, name): schema for name, schema in schemas.items()}
    for reader in actors.sink_rows(tx, there, key):
        for problem in column_problems(newest_definition(tx, ledger, reader), tables, ()):
            raise CannotPromote(
                f"{problem.message} of {environment}", hint=f"pondage show {key} --env {environment}", code=problem.code
            )


def _current(tx: Transaction, ledger: Ledger, environment: str, here: int, key: PondKey) -> _Current:
    pond = actors.pond(tx, here, key)
    if pond is None or pond.borrows is not None:
        raise CannotPromote(
            f"{environment} has no {key} of its own", hint=f"pondage env show {environment}", code="NO_SUCH_POND"
        )
    row = tx.row(
        """SELECT id AS run, public_id, number, freshness, definition FROM runs
           WHERE pond = :pond AND state = 'completed' ORDER BY id DESC LIMIT 1""",
        _Current,
        pond=pond.id,
    )
    if row is None or ledger.definition(tx, row.definition).borrowed:
        raise CannotPromote(
            f"{key} has completed no Run in {environment}", hint=f"pondage run {key} --env {environment}", code="NO_RUN"
        )
    return row


def _shows(tx: Transaction, pond: int, run: int) -> bool:
    current = snapshots.current_run(tx, pond)
    return current is not None and tx.row("SELECT origin FROM runs WHERE id = :id", int, id=current) == run


def _require_retained(tx: Transaction, key: PondKey, run: int) -> None:
    ids = [output.snapshot for output in snapshots.outputs(tx, run).values()]
    marks, values = numbered("id", ids)
    gone = tx.row(
        f"SELECT public_id FROM snapshots WHERE tombstoned_at IS NOT NULL AND id IN ({marks}) LIMIT 1", **values
    )
    if gone is not None or not manifests.is_whole(tx, ids):
        raise CannotPromote(f"the data of {key} is no longer retained", code="NOT_RETAINED")
