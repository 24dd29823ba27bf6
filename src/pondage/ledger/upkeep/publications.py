"""What a table format has yet to be told of a Ripple: the snapshots that readers saw, in their order."""

from __future__ import annotations

import msgspec

from pondage.define.pond.definition import FormatDefinition, PondDefinition
from pondage.ledger.data import snapshots
from pondage.ledger.database.driver import Transaction
from pondage.ledger.upkeep.retention import Published
from pondage.work.snapshot import SnapshotContent

MOST = 100
"""So many versions are made up at most; a format that is further behind gets the newest ones."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What a table format says of itself: the snapshot of its current version, and the newest it has ever had.

    They differ after a rollback, and only the second tells what is still to come.
    """

    snapshot: str
    newest: str


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One version to be made: the whole table as of a snapshot."""

    snapshot: str
    newest: str
    run: str
    freshness: int
    content: SnapshotContent


def formats(tx: Transaction, published: Published) -> tuple[FormatDefinition, ...]:
    """Answer the formats that the Pond declared when the Run that it shows was started."""
    row = tx.row(
        "SELECT d.body AS body FROM runs r JOIN definitions d ON d.id = r.definition WHERE r.public_id = :run",
        tuple[PondDefinition],
        run=published.run,
    )
    return () if row is None else row[0].publish


def missing(tx: Transaction, published: Published, ripple: str, shown: Shown | None) -> list[Version]:
    """Answer the versions that a table which shows `shown` lacks, oldest first. Empty when it is up to date.

    A table that is new, or that another ledger made, gets the current snapshot only. A snapshot without files any more
    is left out, and one that several Runs in a row gave is one version.
    """
    current = next((table for table in published.tables if table.ripple == ripple), None)
    if current is None or (shown is not None and shown.snapshot == current.snapshot):
        return []
    newest = None if shown is None else _snapshot(tx, shown.newest)
    rows = [] if newest is None else _since(tx, *newest, ripple=ripple)
    loaded = snapshots.load(tx, [identity for identity, _, _, _ in rows])
    high = "" if shown is None or newest is None else shown.newest
    versions: list[Version] = []
    for identity, public_id, run, freshness in rows:
        high = public_id
        versions.append(
            Version(
                snapshot=public_id, newest=high, run=run, freshness=freshness, content=loaded[identity].content
            )
        )  # fmt: skip
    if not versions or versions[-1].snapshot != current.snapshot:
        # The first version, or one that goes back to an older snapshot.
        versions.append(
            Version(
                snapshot=current.snapshot,
                newest=high or current.snapshot,
                run=published.run,
                freshness=current.freshness,
                content=current.content,
            )
        )
    return versions


def _snapshot(tx: Transaction, public_id: str) -> tuple[int, int] | None:
    return tx.row("SELECT id, dataset FROM snapshots WHERE public_id = :id", tuple[int, int], id=public_id)


def _since(tx: Transaction, newest: int, dataset: int, *, ripple: str) -> list[tuple[int, str, str, int]]:
    rows = tx.rows(
        """SELECT s.id AS id, s.public_id AS public_id, r.public_id AS run, s.freshness AS freshness
           FROM snapshots s JOIN runs r ON r.id = (
               SELECT min(o.run) FROM run_outputs o JOIN runs c ON c.id = o.run
               WHERE o.snapshot = s.id AND o.node = :ripple AND c.state = 'completed')
           WHERE s.dataset = :dataset AND s.id > :newest AND s.tombstoned_at IS NULL
           ORDER BY s.id DESC LIMIT :most""",
        tuple[int, str, str, int],
        dataset=dataset,
        newest=newest,
        ripple=ripple,
        most=MOST,
    )
    return rows[::-1]
