"""The past of Ponds: which completed Run describes a moment, or belongs to another Run. Only what is kept counts."""

from __future__ import annotations

import msgspec

from pondage.define.values.names import PondKey
from pondage.errors import NotFound
from pondage.ledger.data import manifests, snapshots
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables.actors import PondRow

# A Run whose data is as old as asked for; `freshness - delay` is the moment that its data describes.
_THEN = """SELECT id FROM runs WHERE pond = :pond AND state = 'completed' AND freshness - delay <= :at
           ORDER BY id DESC LIMIT 1"""
_OLDEST = """SELECT r.number AS number FROM runs r WHERE r.pond = :pond AND r.state = 'completed' AND NOT EXISTS
             (SELECT 1 FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
              WHERE o.run = r.id AND s.tombstoned_at IS NOT NULL) ORDER BY r.id LIMIT 1"""
_GONE = """SELECT s.id AS id FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
           WHERE o.run = :run AND s.tombstoned_at IS NOT NULL LIMIT 1"""


_MAJORS = """SELECT o.major AS major FROM ponds p JOIN ponds o ON o.environment = p.environment AND o.name = p.name
             WHERE p.id = :pond AND o.removed_at IS NULL"""


class NotThere(NotFound):
    """There is no data of that time: it was never made, or it is no longer retained."""

    code = "NOT_RETAINED"


class AsOf(msgspec.Struct, frozen=True, kw_only=True):
    """A moment of the past: the newest data not fresher than `at`, but of these Ponds exactly these Runs."""

    at: int
    runs: dict[PondKey, int] = {}


class _Read(msgspec.Struct, frozen=True, kw_only=True):
    public_id: str
    pond: PondKey
    state: str
    freshness: int
    delay: int


def as_of_run(tx: Transaction, run: int) -> AsOf:
    """Answer the moment of a completed Run: itself, what it read directly or not, and all else as fresh as it was."""
    row = tx.one(
        """SELECT r.public_id AS public_id, r.state AS state, r.freshness AS freshness, r.delay AS delay,
                  p.name || '@' || p.major AS pond FROM runs r JOIN ponds p ON p.id = r.pond WHERE r.id = :id""",
        _Read,
        id=run,
    )
    if row.state != "completed":
        raise NotThere(
            f"Run {row.public_id} is {row.state}: only a completed Run can be read",
            hint=f"pondage runs {row.pond.partition('@')[0]} --state completed",
            code="NOT_COMPLETED",
        )
    runs = {row.pond: run}
    pending = [run]
    while pending:
        pins = tx.row("SELECT pins FROM runs WHERE id = :id", dict[PondKey, int | None], id=pending.pop(0))
        for source, pinned in (pins or {}).items():
            if pinned is not None and source not in runs:
                runs[source] = pinned
                pending.append(pinned)
    return AsOf(at=row.freshness - row.delay, runs=runs)


def _is_whole(tx: Transaction, run: int) -> bool:
    return manifests.is_whole(tx, [output.snapshot for output in snapshots.outputs(tx, run).values()])


def run_then(tx: Transaction, pond: PondRow, as_of: AsOf) -> int:
    """Answer the Run of a Pond at that moment; raises `NotThere` with the oldest one that can be read."""
    pinned = as_of.runs.get(pond.key)
    run = tx.row(_THEN, int, pond=pond.id, at=as_of.at) if pinned is None else pinned
    if run is not None and tx.row(_GONE, run=run) is None and _is_whole(tx, run):
        return run
    oldest = tx.row(_OLDEST, int, pond=pond.id)
    name = pond.key.partition("@")[0]
    if len(tx.rows(_MAJORS, int, pond=pond.id)) > 1:
        name = pond.key
    what = "has no completed Run of that time" if run is None else "no longer has the data of that time"
    then = "there is none at all" if oldest is None else f"the oldest to read is {name}#{oldest}"
    raise NotThere(
        f"{name} {what}; {then}", hint=f"pondage runs {name}", code="NO_RUN_THEN" if run is None else "NOT_RETAINED"
    )
