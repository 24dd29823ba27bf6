"""History and outbox rows: what happened, for people; what the outside must be told, for the outbox service."""

from __future__ import annotations

import getpass

import msgspec

from pondage.ledger.database.driver import Transaction


class Caller(msgspec.Struct, frozen=True):
    """Who asks for a change, and why: each change writes it into the audit, in its own transaction."""

    who: str
    note: str = ""


def this_person() -> Caller:
    """Answer the person who runs this process."""
    try:
        return Caller(getpass.getuser())
    except (KeyError, OSError):
        return Caller("unknown")


def record(
    tx: Transaction, *, environment: int, kind: str, pond: str | None = None, run: str | None = None, payload: object
) -> None:
    """Write one line of history."""
    tx.write(
        """INSERT INTO history (environment, at, kind, pond, run, payload)
           VALUES (:environment, :now, :kind, :pond, :run, :payload)""",
        environment=environment,
        kind=kind,
        pond=pond,
        run=run,
        payload=msgspec.json.encode(payload).decode(),
    )


def audit(
    tx: Transaction,
    by: Caller | None,
    *,
    environment: int,
    verb: str,
    target: str,
    detail: str = "",
    refused: str | None = None,
) -> None:
    """Write down who has changed what, and why: `detail`, which the change itself tells, and what the caller noted.

    With `refused` it was not done, for the reason of that code. Nobody stands for the person who runs this process, so
    that no row is without a name.
    """
    by = by or this_person()
    tx.write(
        """INSERT INTO audit (environment, at, who, verb, target, note, refused)
           VALUES (:environment, :now, :who, :verb, :target, :note, :refused)""",
        environment=environment,
        who=by.who,
        verb=verb,
        target=target,
        note=f"{detail} {by.note}".strip(),
        refused=refused,
    )


class OutboxRow(msgspec.Struct, frozen=True, kw_only=True):
    """Something to be carried out after a commit: at least once, idempotent by its id."""

    id: int
    environment: int
    kind: str
    payload: str
    attempts: int


def put_outbox(tx: Transaction, *, environment: int, kind: str, payload: object) -> None:
    """Write what must be carried out once this transaction is committed."""
    tx.write(
        """INSERT INTO outbox (environment, kind, payload, created_at, available_at)
           VALUES (:environment, :kind, :payload, :now, :now)""",
        environment=environment,
        kind=kind,
        payload=msgspec.json.encode(payload).decode(),
    )


TELLING = frozenset({"alert", "lineage", "failed"})
"""Kinds of rows that wait for somebody outside, who may never answer."""


_WAITING = """SELECT id, environment, kind, payload, attempts FROM outbox
              WHERE done_at IS NULL AND available_at <= :now
              AND (:is_telling = 1 OR kind NOT IN ('alert', 'lineage', 'failed'))
              ORDER BY available_at, id LIMIT 1 /*lock skip*/"""
_LEASED = """SELECT id, environment, kind, payload, attempts FROM outbox
             WHERE id = :id AND attempts = :attempts AND done_at IS NULL"""


def next_outbox(tx: Transaction, *, is_telling: bool = True) -> OutboxRow | None:
    """Answer the next row that waits. Without `is_telling` one that waits for somebody outside is passed over."""
    return tx.row(_WAITING, OutboxRow, is_telling=int(is_telling))


def lease_outbox(tx: Transaction, found: OutboxRow, *, lease_us: int) -> OutboxRow:
    """Take a row that was just found for a while: when its carrier dies, it becomes available again."""
    tx.write(
        "UPDATE outbox SET attempts = attempts + 1, available_at = :until WHERE id = :id",
        id=found.id,
        until=tx.now + lease_us,
    )
    return msgspec.structs.replace(found, attempts=found.attempts + 1)


def leased_outbox(tx: Transaction, found: OutboxRow) -> OutboxRow | None:
    """Answer the row if it was leased once since it was found: by whoever asks, when the answer to that was lost."""
    return tx.row(_LEASED, OutboxRow, id=found.id, attempts=found.attempts + 1)


def outbox_done(tx: Transaction, row: int) -> None:
    """Say that a row was carried out."""
    tx.write("UPDATE outbox SET done_at = :now, error = NULL WHERE id = :id", id=row)


def outbox_failed(tx: Transaction, row: int, *, error: str, retry_in_us: int) -> None:
    """Say that carrying out a row failed; it is tried again later."""
    tx.write(
        "UPDATE outbox SET error = :error, available_at = :at WHERE id = :id AND done_at IS NULL",
        id=row,
        error=error,
        at=tx.now + retry_in_us,
    )
