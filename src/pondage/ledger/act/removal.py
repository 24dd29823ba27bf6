"""Removing an environment: its Ponds go, and its data as far as no other environment shows it."""

from __future__ import annotations

import msgspec

from pondage.define.values.names import PondKey, split_key
from pondage.errors import LedgerError
from pondage.kernel.demand.events import Remove
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions
from pondage.ledger.step import advance
from pondage.ledger.step.actor import put_event
from pondage.ledger.tables import actors, environments, history
from pondage.ledger.tables.environments import MAIN, EnvironmentRow
from pondage.ledger.tables.history import Caller
from pondage.ledger.upkeep import retention


class CannotRemove(LedgerError):
    """The environment is needed."""

    code = "CANNOT_REMOVE"


class RemovedEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """What went: Ponds, and snapshots that nobody else shows, marked for `vacuum`. `kept` snapshots are shown above."""

    environment: str
    ponds: tuple[PondKey, ...]
    snapshots: int
    bytes: int
    kept: int


class Unpublish(msgspec.Struct, frozen=True):
    """The payload of an `unpublish` row: stable names that nobody renews any more, and the newest Run they show."""

    environment: str
    ponds: tuple[tuple[str, int], ...]
    order: int


def remove(ledger: Ledger, name: str, *, by: Caller | None = None) -> RemovedEnvironment:
    """Take an environment away, in one transaction; raises `CannotRemove` and changes nothing when it is needed.

    Its rows stay until `vacuum` has deleted the data, but nobody finds them: the name is free at once.
    """
    with ledger.transaction() as tx:
        found = environments.find(tx, name)
        actors.lock_environment(tx, found.id)
        _refuse_needed(tx, found)
        ponds = _remove_ponds(tx, ledger, found)
        _end_the_rest(tx, found.id)
        history.put_outbox(
            tx,
            environment=found.id,
            kind="unpublish",
            payload=Unpublish(
                environment=name, ponds=tuple(split_key(key) for key in ponds), order=_newest_run(tx, found.id)
            ),
        )
        history.audit(tx, by, environment=found.parent or found.id, verb="remove environment", target=name)
        # The sign cannot be part of a name that anybody types.
        tx.change(
            "UPDATE environments SET removed_at = :now, name = :name WHERE id = :id",
            id=found.id,
            name=f"{name}~{found.id}",
        )
        doomed, kept = _mark(tx, ledger, found.id)
    return RemovedEnvironment(
        environment=name,
        ponds=tuple(ponds),
        snapshots=len(doomed),
        bytes=sum(doomed.values()),
        kept=kept,
    )


def _newest_run(tx: Transaction, environment: int) -> int:
    return tx.row("SELECT max(id) AS id FROM runs WHERE environment = :id", int, id=environment) or 0


def _refuse_needed(tx: Transaction, found: EnvironmentRow) -> None:
    if found.name == MAIN:
        raise CannotRemove(f"{MAIN} is never removed", hint="pondage env list")
    below = [each.name for each in environments.rows(tx) if each.parent == found.id]
    if below:
        raise CannotRemove(
            f"{', '.join(below)} reads {found.name}", hint=f"pondage env remove {below[0]}", code="HAS_CHILDREN"
        )
    if tx.row("SELECT actor FROM reactors WHERE environment = :id AND removed_at IS NULL LIMIT 1", id=found.id):
        raise CannotRemove(f"{found.name} has reactors", hint="deploy it without them first", code="HAS_REACTORS")
    if tx.row("SELECT id FROM job_runs WHERE environment = :id AND ended_at IS NULL LIMIT 1", id=found.id):
        raise CannotRemove(
            f"a job runs in {found.name}", hint=f"pondage job list --env {found.name}", code="HAS_JOB_RUNS"
        )
    for state in tx.rows("""SELECT state FROM ponds WHERE removed_at IS NULL AND state LIKE '%"rollback":"%'""", str):
        older = retention.going_back_to(state)
        if tx.row("SELECT id FROM runs WHERE public_id = :older AND environment = :id", older=older, id=found.id):
            raise CannotRemove(
                f"a Run of {found.name} is about to be promoted", hint="wait for the Run that is active above"
            )


def _remove_ponds(tx: Transaction, ledger: Ledger, found: EnvironmentRow) -> list[PondKey]:
    rows = actors.ponds(tx, found.id)
    homes = sorted({row.actor for row in rows})
    for actor in homes:
        actors.lock(tx, actor, is_waiting=True)
        actors.unhalt(tx, actor)
    for row in rows:
        put_event(tx, actor=row.actor, event=Remove(pond=row.key))
    for actor in homes:
        advance.inline(tx, ledger, actor, process=None)
    left = actors.ponds(tx, found.id)
    if left:
        raise CannotRemove(f"{left[0].key} cannot be stopped", hint=f"pondage why {left[0].key} --env {found.name}")
    return [row.key for row in rows]


def _end_the_rest(tx: Transaction, environment: int) -> None:
    """Take away what belongs to no Pond's machine: schedules, questions, jobs, secrets, signals."""
    statement = "SELECT id FROM dispatches WHERE environment = :id AND outcome IS NULL"
    for dispatch in tx.rows(statement, int, id=environment):
        executions.cancel(tx, dispatch)
    tx.change("DELETE FROM schedules WHERE pond IN (SELECT id FROM ponds WHERE environment = :id)", id=environment)
    tx.change("DELETE FROM profiles WHERE pond IN (SELECT id FROM ponds WHERE environment = :id)", id=environment)
    tx.change("DELETE FROM schedules WHERE job IN (SELECT id FROM jobs WHERE environment = :id)", id=environment)
    tx.change("DELETE FROM jobs WHERE environment = :id", id=environment)
    tx.change("DELETE FROM secrets WHERE environment = :id", id=environment)
    tx.change("DELETE FROM signals WHERE actor IN (SELECT id FROM actors WHERE environment = :id)", id=environment)


def _mark(tx: Transaction, ledger: Ledger, environment: int) -> tuple[dict[int, int], int]:
    """Mark what nobody else shows; answer the snapshots with their sizes, and how many stay."""
    sizes = dict(
        tx.rows(
            """SELECT s.id AS id, s.bytes AS bytes FROM snapshots s JOIN datasets d ON d.id = s.dataset
               JOIN ponds p ON p.id = d.pond WHERE p.environment = :id AND s.tombstoned_at IS NULL""",
            tuple[int, int],
            id=environment,
        )
    )
    young_us, read = ledger.durability.keeping.all_us, retention.being_read(tx)
    ids = sorted(sizes)
    used: set[int] = set()
    for start in range(0, len(ids), retention.BATCH):
        some = ids[start : start + retention.BATCH]
        used |= retention.used_again(tx, some, young_us=young_us, read=read)
    doomed = {each: size for each, size in sizes.items() if each not in used}
    retention.tombstone(tx, sorted(doomed))
    return doomed, len(used)
