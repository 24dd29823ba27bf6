"""What should never be: looked for by `pondage doctor`, and by nobody else."""

from __future__ import annotations

import msgspec

from pondage.ledger.driver import Transaction, number, text


class LeakedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """An execution that is held by a process that was declared dead: nobody will ever end it."""

    node: str
    token: str
    process: str


def leaked_claims(tx: Transaction) -> list[LeakedClaim]:
    """Answer claims that no reaper gave back. There should be none, ever."""
    return [
        LeakedClaim(node=text(row, "node"), token=text(row, "token"), process=text(row, "process"))
        for row in tx.rows(
            """SELECT d.node AS node, e.token AS token, p.public_id AS process
               FROM executions e JOIN dispatches d ON d.id = e.dispatch JOIN processes p ON p.id = e.process
               WHERE e.completed_at IS NULL AND p.dead_at IS NOT NULL ORDER BY e.id LIMIT 20"""
        )
    ]


def halted_actors(tx: Transaction) -> list[str]:
    """Answer the keys of actors that do not step any more, with the reason."""
    rows = tx.rows("SELECT key, halted FROM actors WHERE halted IS NOT NULL ORDER BY id LIMIT 20")
    return [f"{text(row, 'key')}: {text(row, 'halted')}" for row in rows]


def newest_time(tx: Transaction) -> int:
    """Answer the latest time that anybody wrote, 0 for a new ledger: a clock behind it was set back."""
    row = tx.row(
        """SELECT max((SELECT coalesce(max(at), 0) FROM advancements WHERE id = (SELECT max(id) FROM advancements)),
                      (SELECT coalesce(max(registered_at), 0) FROM processes)) AS at"""
    )
    return 0 if row is None else number(row, "at")
