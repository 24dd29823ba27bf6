"""The snapshot that a new batch extends: the newest output of the Runs before, as their Ripple wrote it.

Where an environment has nothing of a Pond yet, that is what the environment above shows: the table goes on from there.
"""

from __future__ import annotations

import msgspec

from pondage.define.values.names import PondKey
from pondage.ledger.data.inputs import RippleInputs
from pondage.ledger.database.driver import Transaction
from pondage.ledger.queue.claims import Claim
from pondage.ledger.tables import actors, environments
from pondage.work.snapshot import SnapshotContent


class Base(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshot that a new batch extends, as its Ripple wrote it."""

    snapshot: int
    digest: str
    content: SnapshotContent


# Freshness never falls from one Run of a Pond to the next, so the freshest output is the newest one.
_BASE = """SELECT s.id AS snapshot, s.digest AS digest, s.content AS content
           FROM run_outputs o JOIN runs r ON r.id = o.run JOIN snapshots s ON s.id = o.snapshot
           WHERE o.pond = :pond AND o.node = :node AND r.id < :run
                 AND r.state IN ('completed', :active)
           ORDER BY o.freshness DESC, o.id DESC LIMIT 1"""


_ABOVE = """SELECT s.id AS snapshot, s.digest AS digest, s.content AS content
            FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
            WHERE o.run = (SELECT max(id) FROM runs WHERE pond = :pond AND state = 'completed') AND o.node = :node
            ORDER BY o.id DESC LIMIT 1"""


def base(tx: Transaction, claim: Claim, inputs: RippleInputs, *, is_published: bool = False) -> Base | None:
    """Answer what the work extends, or None when there is nothing yet.

    The output of a Run that is still active counts unless it must be a published one: its batch is part of the table
    from now on, whatever becomes of the other Ripples of that Run. A table that does not grow has nothing above.
    """
    return of_run(
        tx, pond_id=inputs.pond_id, pond=inputs.pond, node=claim.node, run=claim.run, environment=claim.environment,
        is_published=is_published,
    )  # fmt: skip


def of_run(
    tx: Transaction,
    *,
    pond_id: int,
    pond: PondKey,
    node: str,
    run: int | None,
    environment: int,
    is_published: bool = False,
) -> Base | None:
    """Answer what a Ripple of a Run extends, as `base` does."""
    active = "completed" if is_published else "running"
    found = tx.row(_BASE, Base, pond=pond_id, node=node, run=run, active=active)
    if found is not None or is_published:
        return found
    row = actors.pond(tx, environment, pond)
    if row is None:
        return None
    origin = environments.read_from(tx, environment, row).row
    return None if origin.id == row.id else tx.row(_ABOVE, Base, pond=origin.id, node=node)
