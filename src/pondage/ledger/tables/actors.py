"""Actors, their Ponds and their signals: what the machines stand on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.define.values.names import PondKey, split_key
from pondage.ledger.database.driver import (
    Row,
    Transaction,
    batches,
    number,
    number_or_none,
    numbered,
    text,
    text_or_none,
)
from pondage.ledger.database.mapping import mapped


class SignalRow(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to an actor and has not been consumed."""

    id: int
    kind: str
    pond: str | None
    payload: str


class ActorRow(msgspec.Struct, frozen=True, kw_only=True):
    """Something with a machine, locked; with what has happened to it and is due."""

    id: int
    environment: int
    kind: str
    key: str
    version: int
    edits: int
    errors: int
    halted: str | None
    moved: int | None
    due: list[SignalRow]


class PondRow(msgspec.Struct, frozen=True, kw_only=True):
    """A deployed Pond: where it is, what the machine knows of it, what was declared."""

    id: int
    actor: int
    key: PondKey
    project: str
    state: str
    definition: int
    tracks: tuple[str, ...]
    borrows: int | None
    """The Pond of an environment above that it only shows."""


def environment(tx: Transaction, name: str) -> int | None:
    """Answer the id of an environment; None when there is none of that name."""
    return tx.row("SELECT id FROM environments WHERE name = :name", int, name=name)


def made_environment(tx: Transaction, name: str) -> int:
    """Answer the id of an environment, which is made when there is none of that name."""
    if (found := environment(tx, name)) is not None:
        return found
    tx.change("INSERT INTO environments (name) VALUES (:name) ON CONFLICT DO NOTHING", name=name)
    return tx.one("SELECT id FROM environments WHERE name = :name", int, name=name)


def environment_name(tx: Transaction, environment_id: int) -> str:
    """Answer the name of an environment."""
    return tx.one("SELECT name FROM environments WHERE id = :id", str, id=environment_id)


def lock_environment(tx: Transaction, environment_id: int) -> None:
    """Keep every other deploy of this environment waiting until this transaction ends."""
    tx.row("SELECT id FROM environments WHERE id = :id /*lock*/", id=environment_id)


def create(tx: Transaction, *, environment_id: int, kind: str, key: str) -> int:
    """Write a new actor and answer its id."""
    return tx.insert(
        "INSERT INTO actors (environment, kind, key) VALUES (:environment, :kind, :key)",
        environment=environment_id,
        kind=kind,
        key=key,
    )


_ACTOR = (
    "SELECT id, environment, kind, key, version, edits, errors, halted, moved, :clock AS clock "
    "FROM actors WHERE id = :id "
)


_DUE = "SELECT id, kind, pond, payload, due_at FROM signals WHERE actor = :actor AND due_at <= :clock ORDER BY id"


def lock(tx: Transaction, actor: int, *, is_waiting: bool) -> ActorRow | None:
    """Take the lock that a step needs, and answer the actor with everything that has happened to it and is due.

    None when somebody else holds it and we do not wait.
    """
    # The signals are read by a statement of their own behind the lock: nobody can have consumed them since.
    locked = tx.ahead(_ACTOR + ("/*lock*/" if is_waiting else "/*lock skip*/"), id=actor)
    signals = tx.rows(_DUE, actor=actor)
    found = locked()
    if not found:
        return None
    # Steps of one actor follow each other in time: the step's now is taken with the lock, not before it.
    now = tx.now = max(tx.now, number(found[0], "clock"))
    return _actor(found[0], [_signal(row) for row in signals if number(row, "due_at") <= now])


def _signal(row: Row) -> SignalRow:
    return SignalRow(
        id=number(row, "id"), kind=text(row, "kind"), pond=text_or_none(row, "pond"), payload=text(row, "payload")
    )


def _actor(row: Row, due: list[SignalRow]) -> ActorRow:
    return ActorRow(
        id=number(row, "id"),
        environment=number(row, "environment"),
        kind=text(row, "kind"),
        key=text(row, "key"),
        version=number(row, "version"),
        edits=number(row, "edits"),
        errors=number(row, "errors"),
        halted=text_or_none(row, "halted"),
        moved=number_or_none(row, "moved"),
        due=due,
    )


def stepped(tx: Transaction, actor: int) -> None:
    """Count a step that succeeded: caches of older versions are void."""
    tx.write("UPDATE actors SET version = version + 1, errors = 0 WHERE id = :id", id=actor)


def edit(tx: Transaction, actor: int) -> None:
    """Take a catchment's lock to write something of its Ponds outside of a step: caches of what was there are void.

    Always before that is written: whoever steps holds the lock, and waits for the rows.
    """
    tx.write("UPDATE actors SET edits = edits + 1 WHERE id = :id", id=actor)


def count_error(tx: Transaction, actor: int, *, halt_after: int, reason: str) -> bool:
    """Count a step that raised; after `halt_after` of them the actor is halted. Answer whether it is now."""
    tx.change(
        """UPDATE actors SET errors = errors + 1,
                  halted = CASE WHEN errors + 1 >= :limit THEN :reason ELSE halted END
           WHERE id = :id""",
        id=actor,
        limit=halt_after,
        reason=reason,
    )
    row = tx.row(_ACTOR, id=actor)
    return row is not None and row["halted"] is not None


def unhalt(tx: Transaction, actor: int) -> None:
    """Let a halted actor step again: the operator has looked."""
    tx.write("UPDATE actors SET halted = NULL, errors = 0 WHERE id = :id", id=actor)


def put_signal(
    tx: Transaction, *, actor: int, kind: str, payload: str, pond: str | None = None, delay_us: int = 0
) -> None:
    """Write something that happened to an actor, due now or after a delay."""
    tx.write(
        """INSERT INTO signals (actor, kind, pond, payload, due_at)
           VALUES (:actor, :kind, :pond, :payload, :due_at)""",
        actor=actor,
        kind=kind,
        pond=pond,
        payload=payload,
        due_at=tx.now + delay_us,
    )


def put_timer(tx: Transaction, *, actor: int, pond: str, at: int, payload: str) -> None:
    """Set the one timer of a Pond; an earlier one is replaced."""
    tx.write("DELETE FROM signals WHERE actor = :actor AND pond = :pond AND kind = 'tick'", actor=actor, pond=pond)
    tx.write(
        """INSERT INTO signals (actor, kind, pond, payload, due_at)
           VALUES (:actor, 'tick', :pond, :payload, :at)""",
        actor=actor,
        pond=pond,
        payload=payload,
        at=at,
    )


def delete_signals(tx: Transaction, ids: list[int]) -> None:
    """Consume signals, by the ids that were read."""
    for some in batches(ids):
        marks, values = numbered("id", some)
        tx.write(f"DELETE FROM signals WHERE id IN ({marks})", **values)


def readdress(tx: Transaction, signal: SignalRow, *, to: int) -> None:
    """Hand a signal to the actor that its Pond belongs to now. The copy keeps it when the original is consumed."""
    if signal.kind == "tick" and signal.pond is not None:
        put_timer(tx, actor=to, pond=signal.pond, at=tx.now, payload=signal.payload)
    else:
        put_signal(tx, actor=to, kind=signal.kind, payload=signal.payload, pond=signal.pond)


def due_actors(tx: Transaction) -> list[int]:
    """Answer the actors for which something is due: what a poll advances."""
    return tx.rows(
        """SELECT DISTINCT +s.actor AS actor FROM signals s
               WHERE s.due_at <= :now
                 AND NOT EXISTS (SELECT 1 FROM actors a WHERE a.id = s.actor AND a.halted IS NOT NULL)
               ORDER BY 1""",
        int,
    )


def next_due(tx: Transaction) -> int | None:
    """Answer when the next signal is due."""
    return tx.row("SELECT min(due_at) AS at FROM signals", int)


_POND = """SELECT id, actor, name || '@' || major AS key, project, state, definition, tracks, borrows FROM ponds """


def pond(tx: Transaction, environment_id: int, key: str) -> PondRow | None:
    """Answer one deployed Pond by its key."""
    name, major = split_key(key)
    return tx.row(
        _POND + "WHERE environment = :environment AND name = :name AND major = :major AND removed_at IS NULL",
        PondRow,
        environment=environment_id,
        name=name,
        major=major,
    )


def pond_of_run(tx: Transaction, run: int) -> PondRow | None:
    """Answer the Pond that a Run is of, also one that was removed since."""
    return tx.row(_POND + "WHERE id = (SELECT pond FROM runs WHERE id = :run)", PondRow, run=run)


def ponds(tx: Transaction, environment_id: int) -> list[PondRow]:
    """Answer every Pond of an environment that is deployed, by name."""
    return tx.rows(
        _POND + "WHERE environment = :environment AND removed_at IS NULL ORDER BY name, major",
        PondRow,
        environment=environment_id,
    )


def insert_pond(
    tx: Transaction, *, actor: int, environment_id: int, key: str, project: str, state: str, definition_id: int
) -> int:
    """Write a newly deployed Pond and answer its id."""
    name, major = split_key(key)
    return tx.insert(
        """INSERT INTO ponds (actor, environment, name, major, project, state, definition)
           VALUES (:actor, :environment, :name, :major, :project, :state, :definition)""",
        actor=actor,
        environment=environment_id,
        name=name,
        major=major,
        project=project,
        state=state,
        definition=definition_id,
    )


def save_state(tx: Transaction, pond_id: int, state: str) -> None:
    """Write what the machine knows of a Pond now."""
    tx.write("UPDATE ponds SET state = :state WHERE id = :id", id=pond_id, state=state)


def save_definition(
    tx: Transaction, pond_id: int, environment_id: int, definition_id: int, sources: Sequence[str]
) -> None:
    """Put a definition in force: what the Pond is, and whose Sink it is."""
    tx.write("UPDATE ponds SET definition = :definition WHERE id = :id", id=pond_id, definition=definition_id)
    tx.write("DELETE FROM pond_sources WHERE pond = :pond", pond=pond_id)
    for key in sources:
        name, major = split_key(key)
        tx.write(
            """INSERT INTO pond_sources (pond, environment, source_name, source_major)
               VALUES (:pond, :environment, :name, :major)""",
            pond=pond_id,
            environment=environment_id,
            name=name,
            major=major,
        )


def save_tracks(tx: Transaction, environment_id: int, tracks: Mapping[PondKey, Sequence[str]]) -> None:
    """Write which ancestors each Pond must remember; Ponds that are not named remember none."""
    for row in ponds(tx, environment_id):
        wanted = tuple(tracks.get(row.key, ()))
        if row.tracks != wanted:
            encoded = msgspec.json.encode(wanted).decode()
            edit(tx, row.actor)
            tx.write("UPDATE ponds SET tracks = :tracks WHERE id = :id", id=row.id, tracks=encoded)


def remove_pond(tx: Transaction, pond_id: int) -> None:
    """Take a Pond out of the deployment; its Runs and data stay for history and retention."""
    tx.write("UPDATE ponds SET removed_at = :now WHERE id = :id", id=pond_id)
    for table in ("profiles", "tapped", "awaited"):
        tx.write(f"DELETE FROM {table} WHERE pond = :id", id=pond_id)


def move_pond(tx: Transaction, pond_id: int, actor: int) -> None:
    """Give a Pond to another catchment; both must be edited before."""
    tx.write("UPDATE ponds SET actor = :actor WHERE id = :id", id=pond_id, actor=actor)


_AROUND = """SELECT id, actor, name || '@' || major AS key, project, state, definition, tracks, borrows, 0 AS is_sink
             FROM ponds
             WHERE environment = :environment AND name = :name AND major = :major AND removed_at IS NULL
             UNION ALL
             SELECT p.id, p.actor, p.name || '@' || p.major, p.project, p.state, p.definition, p.tracks, p.borrows, 1
             FROM pond_sources s JOIN ponds p ON p.id = s.pond
             WHERE s.environment = :environment AND s.source_name = :name AND s.source_major = :major
                   AND p.removed_at IS NULL
             ORDER BY 9, 1"""


def around(tx: Transaction, environment_id: int, key: str) -> tuple[PondRow | None, list[PondRow]]:
    """Answer a deployed Pond and those that read it, in a fixed order: what a report of it touches."""
    name, major = split_key(key)
    rows = tx.rows(_AROUND, environment=environment_id, name=name, major=major)
    own = sum(not row.pop("is_sink") for row in rows)
    found = mapped(rows, PondRow)
    return found[0] if own else None, found[own:]


def sinks(tx: Transaction, environment_id: int, key: str) -> list[PondKey]:
    """Answer the keys of the Ponds that read this one, in a fixed order."""
    return [row.key for row in sink_rows(tx, environment_id, key)]


def sink_rows(tx: Transaction, environment_id: int, key: str) -> list[PondRow]:
    """Answer the Ponds that read this one, in a fixed order."""
    name, major = split_key(key)
    return tx.rows(
        """SELECT p.id AS id, p.actor AS actor, p.name || '@' || p.major AS key, p.project AS project,
                  p.state AS state, p.definition AS definition, p.tracks AS tracks, p.borrows AS borrows
           FROM pond_sources s JOIN ponds p ON p.id = s.pond
           WHERE s.environment = :environment AND s.source_name = :name AND s.source_major = :major
                 AND p.removed_at IS NULL
           ORDER BY p.id""",
        PondRow,
        environment=environment_id,
        name=name,
        major=major,
    )


def definition(tx: Transaction, identity: int) -> PondDefinition:
    """Answer a stored declaration."""
    (found,) = tx.one("SELECT body FROM definitions WHERE id = :id", tuple[PondDefinition], id=identity)
    return found


def store_definition(tx: Transaction, declared: PondDefinition, digest: str) -> int:
    """Write a declaration once and answer its id."""
    found = tx.row("SELECT id FROM definitions WHERE digest = :digest", int, digest=digest)
    if found is not None:
        return found
    return tx.insert(
        "INSERT INTO definitions (digest, body) VALUES (:digest, :body)",
        digest=digest,
        body=msgspec.json.encode(declared).decode(),
    )
