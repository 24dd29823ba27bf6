"""What should never be: looked for by `pondage doctor`, and by nobody else."""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction

MOST = 20
"""So many of a kind are named; whoever has more has one cause."""


# How a command names a Pond: with its environment, where that is not the one that is meant without saying so.
_TYPED = """{pond} || coalesce((SELECT ' --env ' || e.name FROM environments e
                               WHERE e.id = {environment} AND e.name <> 'main'), '')"""
_POND = _TYPED.format(pond="o.name", environment="o.environment")


class LeakedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """An execution that is held by a process that was declared dead: nobody will ever end it."""

    node: str
    token: str
    process: str
    pond: str | None = None


class StuckWork(msgspec.Struct, frozen=True, kw_only=True):
    """Work that nobody can do or end, and why; `pond` is what to kill and force, as it is typed, where there is one."""

    node: str
    reason: str
    pond: str | None


def leaked_claims(tx: Transaction) -> list[LeakedClaim]:
    """Answer claims that no reaper gave back. There should be none, ever."""
    return tx.rows(
        f"""SELECT d.node AS node, e.token AS token, coalesce(p.public_id, 'of an unknown process') AS process,
                  {_POND} AS pond
           FROM executions e JOIN dispatches d ON d.id = e.dispatch LEFT JOIN processes p ON p.id = e.process
           LEFT JOIN runs r ON r.id = d.run LEFT JOIN ponds o ON o.id = r.pond
           WHERE e.completed_at IS NULL AND e.token IS NOT NULL AND (p.id IS NULL OR p.dead_at IS NOT NULL)
           ORDER BY e.id LIMIT :most""",
        LeakedClaim,
        most=MOST,
    )


_OPEN = """FROM dispatches d LEFT JOIN runs r ON r.id = d.run LEFT JOIN ponds o ON o.id = r.pond
           WHERE d.outcome IS NULL"""

_STUCK = {
    "it can neither be claimed nor is it claimed": f"""
        SELECT d.node AS node, {_POND} AS pond {_OPEN} AND EXISTS (
            SELECT 1 FROM executions e WHERE e.dispatch = d.id AND e.completed_at IS NULL AND e.token IS NULL
            AND NOT EXISTS (SELECT 1 FROM availabilities a WHERE a.execution = e.id))
        ORDER BY d.id LIMIT :most""",
    "nothing of it is open though it has not ended": f"""
        SELECT d.node AS node, {_POND} AS pond {_OPEN} AND NOT EXISTS (
            SELECT 1 FROM executions e WHERE e.dispatch = d.id AND e.completed_at IS NULL)
            AND NOT EXISTS (SELECT 1 FROM job_runs j WHERE j.dispatch = d.id AND j.ended_at IS NULL)
        ORDER BY d.id LIMIT :most""",
    "it can be claimed though it has ended": f"""
        SELECT d.node AS node, {_POND} AS pond
        FROM availabilities a JOIN executions e ON e.id = a.execution JOIN dispatches d ON d.id = e.dispatch
        LEFT JOIN runs r ON r.id = d.run LEFT JOIN ponds o ON o.id = r.pond
        WHERE e.completed_at IS NOT NULL ORDER BY a.execution LIMIT :most""",
    "it has ended and still holds a slot of its pool": f"""
        SELECT d.node AS node, {_POND} AS pond
        FROM pool_slots s JOIN executions e ON e.id = s.execution JOIN dispatches d ON d.id = e.dispatch
        LEFT JOIN runs r ON r.id = d.run LEFT JOIN ponds o ON o.id = r.pond
        WHERE e.completed_at IS NOT NULL ORDER BY s.pool, s.n LIMIT :most""",
}


def stuck_work(tx: Transaction) -> list[StuckWork]:
    """Answer work whose rows contradict each other. Only a foreign write can have made it so, or a defect."""
    return [
        StuckWork(node=node, reason=reason, pond=pond)
        for reason, statement in _STUCK.items()
        for node, pond in tx.rows(statement, tuple[str, str | None], most=MOST)
    ]


class HaltedActor(msgspec.Struct, frozen=True, kw_only=True):
    """An actor that does not step any more, one of its Ponds or its run of a job as it is typed, and the reason."""

    key: str
    pond: str | None
    run: str | None
    reason: str


_OF_ACTOR = "(SELECT min({name}) FROM {table} o WHERE o.actor = a.id{condition})"
_HALTED_POND = _OF_ACTOR.format(name="o.name", table="ponds", condition=" AND o.removed_at IS NULL")
_HALTED_RUN = _OF_ACTOR.format(name="o.public_id", table="job_runs", condition="")
_HALTED = f"""SELECT a.key AS key, a.halted AS reason,
                     {_TYPED.format(pond=_HALTED_POND, environment="a.environment")} AS pond,
                     {_TYPED.format(pond=_HALTED_RUN, environment="a.environment")} AS run
              FROM actors a WHERE a.halted IS NOT NULL ORDER BY a.id LIMIT :most"""


def halted_actors(tx: Transaction) -> list[HaltedActor]:
    """Answer the actors that do not step any more."""
    return tx.rows(
        _HALTED,
        HaltedActor,
        most=MOST,
    )


def stranded_signals(tx: Transaction, *, older_than_us: int) -> list[str]:
    """Answer the keys of actors that were moved and have signals that nobody has handed on for so long."""
    return tx.rows(
        """SELECT a.key AS key FROM actors a WHERE a.moved IS NOT NULL AND EXISTS (
                   SELECT 1 FROM signals s WHERE s.actor = a.id AND s.due_at < :limit)
               ORDER BY a.id LIMIT :most""",
        str,
        limit=tx.now - older_than_us,
        most=MOST,
    )


def failing_outbox(tx: Transaction) -> list[str]:
    """Answer what the outside could not be told so far, and why; it is tried again by itself."""
    return [
        f"{kind}: {error}"
        for kind, error, _ in tx.rows(
            """SELECT kind, error, max(id) AS id FROM outbox WHERE done_at IS NULL AND error IS NOT NULL
               GROUP BY kind, error ORDER BY id LIMIT :most""",
            tuple[str, str, int],
            most=MOST,
        )
    ]


def newest_time(tx: Transaction) -> int:
    """Answer the latest time that anybody wrote, 0 for a new ledger: a clock behind it was set back."""
    return max(
        tx.row(statement, int) or 0
        for statement in (
            "SELECT at FROM advancements ORDER BY id DESC LIMIT 1",
            "SELECT registered_at AS at FROM processes ORDER BY id DESC LIMIT 1",
        )
    )
