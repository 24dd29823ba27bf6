"""What must hold when everything has come to rest, whatever happened before."""

from __future__ import annotations

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.ledger.database.driver import Transaction, number, text
from pondage.ledger.ledger import Ledger
from pondage.ledger.upkeep import retention
from pondage.ledger.upkeep.replay import replay
from tests.histories.machines import Outside

_LEFT_OVER = {
    "execution is open": "SELECT id AS what FROM executions WHERE completed_at IS NULL",
    "availability is left": "SELECT execution AS what FROM availabilities",
    "dispatch is open": "SELECT id AS what FROM dispatches WHERE outcome IS NULL",
    "run is open": "SELECT public_id AS what FROM runs WHERE ended_at IS NULL",
    "signal is due": "SELECT id AS what FROM signals WHERE due_at <= :now",
    "outbox row is not carried out": "SELECT id AS what FROM outbox WHERE done_at IS NULL",
    "actor is halted": "SELECT key AS what FROM actors WHERE halted IS NOT NULL",
    "claim is held by the dead": """SELECT e.id AS what FROM executions e JOIN processes p ON p.id = e.process
        WHERE e.completed_at IS NULL AND p.dead_at IS NOT NULL""",
    "pool slot is taken": "SELECT pool AS what FROM pool_slots WHERE execution IS NOT NULL",
    "rule was broken": "SELECT what FROM broken",
    "dispatch has two good executions": """SELECT dispatch AS what FROM executions WHERE outcome IN ('ok', 'reused')
        GROUP BY dispatch HAVING count(*) > 1""",
    "dispatch ended ok without a good execution": """SELECT d.id AS what FROM dispatches d WHERE d.outcome = 'ok'
        AND 1 <> (SELECT count(*) FROM executions e WHERE e.dispatch = d.id AND e.outcome = 'ok')""",
    "good execution of a dispatch that ended otherwise": """SELECT d.id AS what FROM dispatches d
        JOIN executions e ON e.dispatch = d.id WHERE e.outcome IN ('ok', 'reused') AND d.outcome <> e.outcome""",
    "dispatch ended as an execution never does": """SELECT id AS what FROM dispatches
        WHERE outcome NOT IN ('ok', 'reused', 'failed', 'cancelled')""",
    "good execution without its snapshot": """SELECT e.id AS what FROM executions e WHERE e.outcome = 'ok'
        AND 1 <> (SELECT count(*) FROM snapshots s WHERE s.execution = e.id)""",
    "snapshot of a bad execution": """SELECT s.public_id AS what FROM snapshots s JOIN executions e
        ON e.id = s.execution WHERE e.outcome <> 'ok'""",
    "dispatch crashed more often than its budget": """SELECT id AS what FROM dispatches
        WHERE crashes > crash_budget AND crashes > 1""",
}


def is_quiet(tx: Transaction) -> bool:
    """Answer whether nothing is left to be done."""
    return not any(
        tx.row(f"SELECT 1 AS yes FROM {what} LIMIT 1")
        for what in (
            "executions WHERE completed_at IS NULL",
            "outbox WHERE done_at IS NULL",
            "signals WHERE due_at <= :now",
        )
    )


def violations(ledger: Ledger, outside: Outside) -> list[str]:
    """Answer everything that is wrong, in words."""
    with ledger.reading() as tx:
        found = [f"{what}: {row['what']}" for what, question in _LEFT_OVER.items() for row in tx.rows(question)]
        found += _runs(tx)
        found += _outside(tx, outside)
        found += _history(tx, ledger)
    return found


def _runs(tx: Transaction) -> list[str]:
    """Every completed Run shows exactly one output for each Ripple."""
    found: list[str] = []
    for row in tx.rows(
        """SELECT r.id AS id, r.public_id AS public_id, d.body AS body
           FROM runs r JOIN definitions d ON d.id = r.definition WHERE r.state = 'completed'"""
    ):
        definition = msgspec.json.decode(text(row, "body"), type=PondDefinition)
        shown = sorted(
            text(output, "node")
            for output in tx.rows("SELECT node FROM run_outputs WHERE run = :run", run=number(row, "id"))
        )
        expected = sorted(ripple.name for ripple in definition.ripples)
        if shown != expected:
            found.append(f"run {row['public_id']} of {definition.name} shows {shown}, not {expected}")
    return found


def _outside(tx: Transaction, outside: Outside) -> list[str]:
    """What holders were told, what is on the disk and what readers see is what the ledger says."""
    found: list[str] = []
    outcomes = {
        text(row, "token"): row["outcome"]
        for row in tx.rows("SELECT token, outcome FROM executions WHERE token IS NOT NULL")
    }
    for token, (wanted, is_ours) in outside.told.items():
        if is_ours != (outcomes.get(token) == wanted):
            said = "holds" if is_ours else "was fenced"
            found.append(f"the holder of {token} was told that {wanted} {said}, and it ended {outcomes.get(token)}")
    for row in tx.rows(
        "SELECT s.path AS path, e.token AS token FROM snapshots s JOIN executions e ON e.id = s.execution"
    ):
        token = text(row, "token")
        if not text(row, "path").endswith(token):
            found.append(f"the snapshot at {row['path']} was not written by {token}")
        if not outside.files.get(token):
            found.append(f"the files of {token} are published and not there, or not complete")
    for row in tx.rows("SELECT id FROM ponds"):
        published = retention.published(tx, number(row, "id"))
        _, seen = outside.shown.get(number(row, "id"), (0, None))
        if published is not None and seen != published.run:
            found.append(f"readers of pond {published.pond} see {seen}, not {published.run}")
    return found


def _history(tx: Transaction, ledger: Ledger) -> list[str]:
    """The recorded advancements, stepped again, give the stored states."""
    found: list[str] = []
    for row in tx.rows("SELECT id FROM environments"):
        replayed = replay(tx, ledger, number(row, "id"))
        if not replayed.is_complete:
            found.append("the history is not complete")
        found += [f"replay of {one.pond} differs" for one in replayed.differences]
    return found
