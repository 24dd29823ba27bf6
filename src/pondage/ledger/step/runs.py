"""Runs of Ponds: their rows, their pins, how they end."""

from __future__ import annotations

import hashlib

import msgspec

from pondage.ledger.data import snapshots
from pondage.ledger.database.driver import Transaction, number, number_or_none, text
from pondage.ledger.tables.pins import Chosen


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """A Run as its Ripples need it: which definition it keeps, and which Run of each Source it reads."""

    id: int
    public_id: str
    number: int
    freshness: int
    definition: int
    pins: dict[str, int | None]
    is_forced: bool
    is_full: bool
    chunk: int | None = None
    """The chunk of a backfill that it computes."""


class Finishing(msgspec.Struct, frozen=True, kw_only=True):
    """A Run that is to be completed, the snapshots that its own Ripples gave, and whether another Pond shows it."""

    id: int
    public_id: str
    freshness: int
    definition: int
    shows: int | None
    """The older Run, or that of another environment, whose outputs it shows."""
    given: dict[str, int]
    is_borrowed: bool
    number: int
    is_spliced: bool
    spliced_from: tuple[str, ...]


_COLUMNS = "id, public_id, number, freshness, definition, pins, is_forced, is_full, chunk"
_FINISHING = """SELECT r.id AS id, r.public_id AS public_id, r.number AS number,
                        r.freshness AS freshness, r.definition AS definition,
                        coalesce(r.rollback_of, r.origin) AS shows,
                        r.is_spliced AS is_spliced, r.spliced_from AS spliced_from,
                        o.id AS output, o.node AS node, o.snapshot AS snapshot,
                        EXISTS (SELECT 1 FROM ponds b WHERE b.borrows = r.pond AND b.removed_at IS NULL) AS is_borrowed
                 FROM runs r LEFT JOIN run_outputs o ON o.run = r.id
                 WHERE r.pond = :pond AND r.number = :number"""


def insert(
    tx: Transaction,
    *,
    public_id: str,
    environment: int,
    actor: int,
    pond: int,
    run_number: int,
    freshness: int,
    delay: int,
    definition: int,
    chosen: Chosen,
    is_forced: bool,
    is_full: bool,
    rollback_of: int | None,
    origin: int | None,
    chunk: int | None,
    reason: str,
) -> RunRow:
    """Write a Run that starts, with its pins."""
    identity = tx.insert(
        """INSERT INTO runs (public_id, environment, actor, pond, number, freshness, delay, definition, pins,
                             ancestry, is_spliced, spliced_from, is_forced, is_full, rollback_of, origin, chunk, state,
                             reason, started_at)
           VALUES (:public_id, :environment, :actor, :pond, :number, :freshness, :delay, :definition, :pins,
                   :ancestry, :is_spliced, :spliced_from, :is_forced, :is_full, :rollback_of, :origin, :chunk,
                   'running', :reason, :now)""",
        public_id=public_id,
        environment=environment,
        actor=actor,
        pond=pond,
        number=run_number,
        freshness=freshness,
        delay=delay,
        definition=definition,
        pins=msgspec.json.encode(chosen.pins).decode(),
        ancestry=msgspec.json.encode(chosen.standing).decode(),
        is_spliced=int(chosen.is_spliced),
        spliced_from=msgspec.json.encode(chosen.spliced_from).decode(),
        is_forced=int(is_forced),
        is_full=int(is_full),
        rollback_of=rollback_of,
        origin=origin,
        chunk=chunk,
        reason=reason,
    )
    return RunRow(
        id=identity,
        public_id=public_id,
        number=run_number,
        freshness=freshness,
        definition=definition,
        pins=chosen.pins,
        is_forced=is_forced,
        is_full=is_full,
        chunk=chunk,
    )


def finishing(tx: Transaction, pond: int, run_number: int) -> Finishing:
    """Answer the Run of this number and the snapshots that its Ripples gave; the newest where one gave twice."""
    rows = tx.rows(_FINISHING, pond=pond, number=run_number)
    assert rows, f"pond {pond} has no run number {run_number}"
    outputs = sorted(
        (number(row, "output"), text(row, "node"), number(row, "snapshot")) for row in rows if row["output"] is not None
    )
    run = rows[0]
    return Finishing(
        id=number(run, "id"),
        public_id=text(run, "public_id"),
        freshness=number(run, "freshness"),
        definition=number(run, "definition"),
        shows=number_or_none(run, "shows"),
        given={node: snapshot for _, node, snapshot in outputs},
        is_borrowed=bool(run["is_borrowed"]),
        number=number(run, "number"),
        is_spliced=bool(run["is_spliced"]),
        spliced_from=msgspec.json.decode(text(run, "spliced_from"), type=tuple[str, ...]),
    )


def by_number(tx: Transaction, pond: int, run_number: int) -> RunRow:
    """Answer the Run that the machine calls by this number."""
    return tx.one(
        f"SELECT {_COLUMNS} FROM runs WHERE pond = :pond AND number = :number", RunRow, pond=pond, number=run_number
    )


def latest_pins(tx: Transaction, pond: int) -> dict[str, int | None]:
    """Answer the pins of the Pond's latest started Run: a new Run never goes back behind them.

    A rollback read nothing itself, so it moves nothing back; and a chunk of a backfill reads for itself alone.
    """
    pins = tx.row(
        """SELECT pins FROM runs WHERE pond = :pond AND rollback_of IS NULL AND origin IS NULL AND chunk IS NULL
           ORDER BY number DESC LIMIT 1""",
        dict[str, int | None],
        pond=pond,
    )
    return pins or {}


def shown_chosen(tx: Transaction, pond: int) -> Chosen:
    """Answer what the Run was made from that readers of a Pond see."""
    return tx.one(
        """SELECT pins, ancestry AS standing, is_spliced, spliced_from FROM runs
           WHERE pond = :pond AND state = 'completed' ORDER BY id DESC LIMIT 1""",
        Chosen,
        pond=pond,
    )


def chosen_by(tx: Transaction, public_id: str) -> Chosen:
    """Answer what an older Run was made from."""
    return tx.one(
        "SELECT pins, ancestry AS standing, is_spliced, spliced_from FROM runs WHERE public_id = :public_id",
        Chosen,
        public_id=public_id,
    )


def end(tx: Transaction, run: int, *, state: str, error: str | None = None, outputs_digest: str | None = None) -> None:
    """Say how a Run ended. A Run ends once: the machine never ends one twice, and the row count proves it."""
    tx.write_one(
        """UPDATE runs SET state = :state, error = :error, outputs_digest = :outputs_digest, ended_at = :now
           WHERE id = :id AND ended_at IS NULL""",
        id=run,
        state=state,
        error=error,
        outputs_digest=outputs_digest,
    )


def publish(tx: Transaction, *, run: Finishing, pond: int, ripples: list[str], given: dict[str, int]) -> dict[str, int]:
    """Complete a Run: fix which snapshot of each Ripple it shows, and make it the one that readers see.

    `given` is what it has already. Answer all that it shows: from now on that never changes.
    """
    given = dict(given)
    for ripple in ripples:
        if ripple in given:
            continue
        # The Ripple served this Run together with a newer one: the newer one's output is this one's too.
        chosen = snapshots.choice(tx, pond=pond, node=ripple, at_least=run.freshness)
        assert chosen is not None, f"run {run.public_id} is complete, and {ripple} has no output"
        snapshots.put_output(
            tx, run=run.id, pond=pond, node=ripple, freshness=chosen.freshness, snapshot=chosen.snapshot
        )
        given[ripple] = chosen.snapshot
    # Runs with equal outputs count as the same wherever a diamond compares them.
    digest = hashlib.sha256(msgspec.json.encode(sorted(given.items()))).hexdigest()[:16]
    end(tx, run.id, state="completed", outputs_digest=digest)
    return given


def by_public_id(tx: Transaction, public_id: str) -> int | None:
    """Answer the id of the Run that people call by this public id."""
    return tx.row("SELECT id FROM runs WHERE public_id = :public_id", int, public_id=public_id)
