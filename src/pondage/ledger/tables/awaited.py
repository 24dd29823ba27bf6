"""Who waits for a Run of a Pond: questions that a worker answers when it is there, or when their time is over."""

from __future__ import annotations

from pondage.ledger.database.driver import Transaction


def put(tx: Transaction, *, dispatch: int, pond: int, moment: int, until: int) -> None:
    """Let a question wait for a Run that is as fresh as `moment`; what has waited long enough is forgotten."""
    tx.change("DELETE FROM awaited WHERE until < :now")
    tx.change(
        "INSERT INTO awaited (dispatch, pond, moment, until) VALUES (:dispatch, :pond, :moment, :until)",
        dispatch=dispatch,
        pond=pond,
        moment=moment,
        until=until,
    )


def hasten(tx: Transaction, *, pond: int, freshness: int) -> None:
    """Let those be answered now who waited for this Run, and for nothing else any more."""
    where = "pond = :pond AND moment <= :freshness"
    waiting = tx.rows(f"SELECT dispatch FROM awaited WHERE {where}", int, pond=pond, freshness=freshness)
    if not waiting:
        return
    tx.change(f"DELETE FROM awaited WHERE {where}", pond=pond, freshness=freshness)
    for dispatch in waiting:
        tx.change(
            """UPDATE availabilities SET available_at = :now WHERE available_at > :now
               AND execution IN (SELECT id FROM executions WHERE dispatch = :dispatch AND completed_at IS NULL)
               AND NOT EXISTS (SELECT 1 FROM awaited WHERE dispatch = :dispatch)""",
            dispatch=dispatch,
        )


def first_of(tx: Transaction, pond: int, run: int) -> bool:
    """Answer whether nobody has asked for more with this Run or a newer one, and note that somebody does."""
    return (
        tx.change(
            """INSERT INTO tapped (pond, run) VALUES (:pond, :run)
               ON CONFLICT (pond) DO UPDATE SET run = excluded.run WHERE tapped.run < excluded.run""",
            pond=pond,
            run=run,
        )
        > 0
    )
