"""Going back: an older completed Run of a Pond becomes the current one, or an older deployment of a project.

Nothing is deleted and nothing is computed: both are new rows that point at old ones, and both can be undone.
"""

from __future__ import annotations

import msgspec

from pondage.define.job.exposed import Exposed
from pondage.define.pond.definition import PondDefinition
from pondage.define.reactor.reaction import ReactorDefinition
from pondage.define.values.names import PondKey
from pondage.errors import LedgerError, NotFound
from pondage.kernel.demand.events import Rollback
from pondage.ledger.act import verbs
from pondage.ledger.act.exposed import NOTHING, of_row
from pondage.ledger.data import manifests, snapshots
from pondage.ledger.database.driver import Transaction, numbered
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors
from pondage.ledger.tables.actors import PondRow
from pondage.ledger.tables.archives import stored_archive
from pondage.ledger.tables.environments import environment_id
from pondage.ledger.tables.history import Caller


class CannotRollBack(LedgerError):
    """The Run or the deployment that was asked for cannot become the current one."""

    code = "CANNOT_ROLL_BACK"


class OlderDeployment(msgspec.Struct, frozen=True, kw_only=True):
    """What a project had deployed before: everything that is needed to deploy it again."""

    id: int
    deployed_at: int
    archive: bytes
    definitions: tuple[PondDefinition, ...]
    reactors: tuple[ReactorDefinition, ...] = ()
    exposed: Exposed = NOTHING


def roll_back_pond(ledger: Ledger, environment: str, pond: PondKey, run: int, *, by: Caller | None = None) -> str:
    """Make an older completed Run the one that readers see, and answer its public id; raises `CannotRollBack`.

    A Run of the Pond that is active finishes first. Sinks are not told: they read it with their next Run.
    """
    with ledger.reading() as tx:
        row = actors.pond(tx, environment_id(tx, environment), pond)
        if row is None:
            raise NotFound(f"there is no Pond {pond} in environment {environment}", hint="pondage status --once")
        public_id = _require_restorable(tx, ledger, row, run)
    verbs.send(ledger, environment, Rollback(pond=pond, run=public_id), detail=public_id, by=by)
    return public_id


def _require_restorable(tx: Transaction, ledger: Ledger, pond: PondRow, run: int) -> str:
    public_id, owner, number, state = tx.one(
        "SELECT public_id, pond, number, state FROM runs WHERE id = :id", tuple[str, int | None, int, str], id=run
    )
    name = f"{pond.key}#{number}"
    look = f"pondage runs {pond.key.partition('@')[0]} --state completed"
    if owner != pond.id:
        its = None if owner is None else tx.row("SELECT name || '@' || major FROM ponds WHERE id = :id", str, id=owner)
        raise CannotRollBack(f"Run {its or public_id}#{number} is not one of {pond.key}", hint=look)
    if state != "completed":
        raise CannotRollBack(f"{name} is {state}: only a completed Run can be shown", hint=look)
    current = snapshots.current_run(tx, pond.id)
    if current == run:
        raise CannotRollBack(f"{name} is the current Run already", hint=look)
    given = snapshots.outputs(tx, run)
    _require_retained(tx, name, [output.snapshot for output in given.values()], look)
    missing = [each.name for each in ledger.definition(tx, pond.definition).ripples if each.name not in given]
    if missing:
        raise CannotRollBack(
            f"{name} has no result of {', '.join(missing)}, which was added since",
            hint="deploy the code of that time first: pondage rollback",
        )
    return public_id


def _require_retained(tx: Transaction, name: str, ids: list[int], look: str) -> None:
    marks, values = numbered("id", ids)
    gone = tx.row(
        f"SELECT public_id FROM snapshots WHERE tombstoned_at IS NOT NULL AND id IN ({marks}) LIMIT 1", **values
    )
    if gone is not None or not manifests.is_whole(tx, ids):
        raise CannotRollBack(f"the data of {name} is no longer retained", hint=look, code="NOT_RETAINED")


def previous_deployment(tx: Transaction, ledger: Ledger, environment: str, project: str) -> OlderDeployment:
    """Answer what the project had deployed before what it has now; raises `CannotRollBack` when there is nothing.

    A rollback of a rollback goes one step further back, never forward again.
    """
    identity = environment_id(tx, environment)
    now = _newest(tx, identity, project, before=None)
    if now is None:
        raise CannotRollBack(f"project {project} was never deployed to {environment}", hint="pondage deploy")
    row = _newest(tx, identity, project, before=now.restored or now.id)
    if row is None:
        raise CannotRollBack(f"project {project} has no older deployment", hint="pondage plan")
    return OlderDeployment(
        # What a rollback brought back is the older one again, not a state of its own.
        id=row.restored or row.id,
        deployed_at=row.deployed_at,
        archive=stored_archive(tx, row.archive),
        definitions=tuple(ledger.definition(tx, each) for each in row.definitions),
        reactors=row.reactors,
        exposed=of_row(tx, identity, project, row.id),
    )


class _Deployment(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    archive: str
    definitions: tuple[int, ...]
    reactors: tuple[ReactorDefinition, ...]
    restored: int | None
    deployed_at: int


def _newest(tx: Transaction, environment: int, project: str, *, before: int | None) -> _Deployment | None:
    return tx.row(
        """SELECT id, archive, definitions, reactors, restored, deployed_at FROM deployments
           WHERE environment = :environment AND project = :project
             AND (:is_newest = 1 OR id < :before)
           ORDER BY id DESC LIMIT 1""",
        _Deployment,
        environment=environment,
        project=project,
        is_newest=int(before is None),
        before=before or 0,
    )


def is_made_by(tx: Transaction, pond: PondRow, definition: int) -> bool:
    """Answer whether readers see what a definition made, also where that is shown again."""
    current = tx.row(
        """SELECT coalesce(o.definition, r.definition) AS definition
           FROM runs r LEFT JOIN runs o ON o.id = r.rollback_of
           WHERE r.pond = :pond AND r.state = 'completed' ORDER BY r.id DESC LIMIT 1""",
        int,
        pond=pond.id,
    )
    return current == definition


def newest_run_of(tx: Transaction, pond: PondRow, definition: int) -> int | None:
    """Answer the number of the newest completed Run that a definition made and that can be shown again, or None."""
    return tx.row(
        """SELECT r.number AS number FROM runs r
           WHERE r.pond = :pond AND r.definition = :definition AND r.state = 'completed' AND r.rollback_of IS NULL
             AND NOT EXISTS (SELECT 1 FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
                             WHERE o.run = r.id AND s.tombstoned_at IS NOT NULL)
           ORDER BY r.id DESC LIMIT 1""",
        int,
        pond=pond.id,
        definition=definition,
    )
