"""Environments: each has Ponds of its own, and where it has none it shows what the environment above it has published.

A Pond that is only read is *borrowed*: a row without code, whose Runs show the Runs above as they are published. The
demand machine sees an Inlet; it never asks anything of the environment above.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.define.values.names import PondKey, pond_key
from pondage.errors import LedgerError, NotFound
from pondage.kernel.demand.events import Force, Wake
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import actors
from pondage.ledger.tables.actors import PondRow
from pondage.ledger.tables.pins import Chosen

MAIN = "main"


class EnvironmentRow(msgspec.Struct, frozen=True, kw_only=True):
    """An environment, and the one above it."""

    id: int
    name: str
    parent: int | None


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """The current Run of a Pond above: what a borrowed Pond shows. Also the borrowed Pond's calendar."""

    run: int
    freshness: int
    delay: int
    chosen: Chosen

    def occurrence(self, now: int) -> tuple[int, int] | None:  # noqa: ARG002 - the kernel's signature
        """Give the freshness that was published, whenever that was."""
        return self.freshness - self.delay, self.freshness

    def next_start(self, now: int) -> int | None:  # noqa: ARG002 - the kernel's signature
        """Nobody knows when the environment above publishes again: it says so by a signal."""
        return None


class Readable(msgspec.Struct, frozen=True, kw_only=True):
    """A Pond as readers of an environment find it: the row that has the Runs, and the environment it is in."""

    row: PondRow
    environment: str


_ROW = "SELECT id, name, parent FROM environments "


def rows(tx: Transaction) -> list[EnvironmentRow]:
    """Answer every environment, by name."""
    return tx.rows(_ROW + "WHERE removed_at IS NULL ORDER BY name", EnvironmentRow)


def find(tx: Transaction, name: str) -> EnvironmentRow:
    """Answer an environment; raises `NotFound` when there is none of that name."""
    row = tx.row(_ROW + "WHERE name = :name", EnvironmentRow, name=name)
    if row is None:
        raise NotFound(f"there is no environment {name}", hint="pondage env list", code="NO_ENVIRONMENT")
    return row


def ensure(tx: Transaction, name: str, parent: str | None) -> EnvironmentRow:
    """Answer an environment, making it below `parent` the first time; raises when it is below another one.

    `parent` of None takes it as it is.
    """
    above = None if parent is None else find(tx, parent)
    identity = actors.made_environment(tx, name)
    if above is not None and above.id != identity and not is_used(tx, identity):
        tx.change("UPDATE environments SET parent = :parent WHERE id = :id", id=identity, parent=above.id)
    found = find(tx, name)
    known = None if found.parent is None else actors.environment_name(tx, found.parent)
    if parent is not None and known != parent:
        raise LedgerError(
            f"environment {name} is {f'below {known}' if known else 'below none'}, not below {parent}",
            hint=f"pondage env remove {name}, then deploy it again",
            code="OTHER_PARENT",
        )
    return found


def is_used(tx: Transaction, environment: int) -> bool:
    """Answer whether something was deployed to an environment: then it stays below the one that it is below."""
    row = tx.row("SELECT id FROM deployments WHERE environment = :id LIMIT 1", id=environment)
    is_above = tx.row("SELECT id FROM environments WHERE parent = :id LIMIT 1", id=environment)
    return row is not None or is_above is not None


def chain(tx: Transaction, environment: int) -> list[EnvironmentRow]:
    """Answer an environment and those above it, the nearest first."""
    found: list[EnvironmentRow] = []
    wanted: int | None = environment
    while wanted is not None:
        found.append(tx.one(_ROW + "WHERE id = :id", EnvironmentRow, id=wanted))
        wanted = found[-1].parent
    return found


def above(tx: Transaction, environment: int, key: str) -> Readable | None:
    """Answer the Pond of that key in the nearest environment above that has one of its own."""
    for each in chain(tx, environment)[1:]:
        row = actors.pond(tx, each.id, key)
        if row is not None and row.borrows is None:
            return Readable(row=row, environment=each.name)
    return None


def readable(tx: Transaction, environment: int) -> list[Readable]:
    """Answer every Pond that readers of an environment find, by name.

    Its own, as soon as they have completed a Run here; else the nearest above that has one.
    """
    levels = chain(tx, environment)
    found: dict[PondKey, Readable] = {}
    for level in levels:
        for row in actors.ponds(tx, level.id):
            if row.borrows is None:
                known = found.get(row.key)
                if known is None or (not _has_run(tx, known.row) and _has_run(tx, row)):
                    found[row.key] = Readable(row=row, environment=level.name)
    return [found[key] for key in sorted(found)]


def read_from(tx: Transaction, environment: int, row: PondRow) -> Readable:
    """Answer where readers of an environment find the data of one of its Ponds."""
    if row.borrows is None and _has_run(tx, row):
        return Readable(row=row, environment=actors.environment_name(tx, environment))
    for level in chain(tx, environment)[1:]:
        other = actors.pond(tx, level.id, row.key)
        if other is not None and other.borrows is None and _has_run(tx, other):
            return Readable(row=other, environment=level.name)
    return Readable(row=row, environment=actors.environment_name(tx, environment))


def _has_run(tx: Transaction, row: PondRow) -> bool:
    return tx.row("SELECT id FROM runs WHERE pond = :pond AND state = 'completed' LIMIT 1", pond=row.id) is not None


def shown(tx: Transaction, pond: int) -> Shown | None:
    """Answer the current Run of a Pond, for those that borrow it; None when it never completed one."""
    row = tx.row(
        """SELECT id, freshness, delay, ancestry, is_spliced, spliced_from FROM runs
           WHERE pond = :pond AND state = 'completed' ORDER BY id DESC LIMIT 1""",
        tuple[int, int, int, dict[str, tuple[str, ...]], bool, tuple[str, ...]],
        pond=pond,
    )
    if row is None:
        return None
    run, freshness, delay, standing, is_spliced, spliced_from = row
    # It reads nothing itself; a diamond below compares what the Run above stands on.
    chosen = Chosen(standing=standing, is_spliced=is_spliced, spliced_from=spliced_from)
    return Shown(run=run, freshness=freshness, delay=delay, chosen=chosen)


def is_foreign(tx: Transaction, pond: int, run: int | None) -> bool:
    """Answer whether a Run is one of another Pond: that of another environment."""
    row = tx.row("SELECT pond FROM runs WHERE id = :id", tuple[int | None], id=run)
    return row is not None and row[0] != pond


def seen_from(tx: Transaction, environment: int, chosen: Chosen) -> Chosen:
    """Answer the pins of a Run as another environment sees them: what was borrowed is named by where it comes from."""
    pins = dict(chosen.pins)
    for source, run in chosen.pins.items():
        row = tx.row("SELECT environment, origin FROM runs WHERE id = :id", tuple[int, int | None], id=run)
        if row is not None and row[0] != environment:
            pins[source] = row[1] or run
    return msgspec.structs.replace(chosen, pins=pins)


def borrowing(origin: Readable, definition: PondDefinition) -> PondDefinition:
    """Answer what is deployed for a Pond that is only read: its tables, and nothing that could run or be published."""
    return msgspec.structs.replace(
        definition,
        sources=(),
        windows=(),
        triggers=type(definition.triggers)(),
        publish=(),
        pool=None,
        labels=(),
        borrowed=origin.environment,
    )


def tell_borrowers(tx: Transaction, pond: int, key: PondKey, *, is_fresher: bool) -> None:
    """Tell the environments below that a Pond shows another Run now: a fresher one, or one as fresh in its place."""
    event = Wake(pond=key) if is_fresher else Force(pond=key)
    tx.write(
        """INSERT INTO signals (actor, kind, pond, payload, due_at)
           SELECT actor, :kind, :key, :payload, :now FROM ponds WHERE borrows = :pond AND removed_at IS NULL""",
        kind=type(event).__name__.lower(),
        key=key,
        payload=msgspec.json.encode(event).decode(),
        pond=pond,
    )


def relink(tx: Transaction) -> None:
    """Have every borrowed Pond show the one that is nearest above now: some may have been deployed or taken away."""
    for identity, actor, environment, key, borrows in tx.rows(
        """SELECT id, actor, environment, name || '@' || major AS key, borrows FROM ponds
           WHERE borrows IS NOT NULL AND removed_at IS NULL ORDER BY id""",
        tuple[int, int, int, PondKey, int],
    ):
        origin = above(tx, environment, key)
        # A Pond that was taken away above goes on being shown as it was.
        if origin is not None and origin.row.id != borrows:
            actors.edit(tx, actor)
            tx.change("UPDATE ponds SET borrows = :origin WHERE id = :id", origin=origin.row.id, id=identity)
            payload = msgspec.json.encode(Wake(pond=key)).decode()
            actors.put_signal(tx, actor=actor, kind="wake", pond=key, payload=payload)


def sources_of(definitions: Iterable[PondDefinition]) -> list[PondKey]:
    """Answer every Pond that these read, each once."""
    found = [
        pond_key(source.pond, source.major) for one in definitions for source in one.sources if source.major is not None
    ]
    return list(dict.fromkeys(found))


def environment_id(tx: Transaction, name: str) -> int:
    """Answer the id of an environment; raises `NotFound` when nothing was ever deployed there."""
    identity = actors.environment(tx, name)
    if identity is None:
        raise NotFound(f"nothing is deployed in environment {name}", hint="pondage deploy", code="NOT_DEPLOYED")
    return identity


def resolve_pond(tx: Transaction, environment: int, given: str) -> PondKey:
    """Answer the key of a Pond named `sales` (its newest major) or `sales@2`; raises `NotFound`."""
    name, _, major = given.partition("@")
    majors = tx.rows(
        """SELECT major FROM ponds WHERE environment = :environment AND name = :name AND removed_at IS NULL
           ORDER BY major DESC""",
        int,
        environment=environment,
        name=name,
    )
    if major:
        majors = [each for each in majors if str(each) == major]
    if not majors:
        raise NotFound(f"there is no Pond {given}", hint="pondage status lists the Ponds", code="NO_SUCH_POND")
    return pond_key(name, majors[0])
