"""The past of Ponds: which completed Run describes a moment, or belongs to another Run. Only what is kept counts."""

from __future__ import annotations

import msgspec

from pondage.define.values.names import PondKey
from pondage.errors import NotFound
from pondage.ledger.data import manifests, past, snapshots
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables.actors import PondRow

# The nearest Run that is kept and whose data is as old as asked for; `freshness - delay` is what its data describes.
_THEN = """SELECT r.id AS id FROM runs r WHERE r.pond = :pond AND r.state = 'completed' AND r.freshness - r.delay <= :at
           AND NOT EXISTS (SELECT 1 FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
                           WHERE o.run = r.id AND s.tombstoned_at IS NOT NULL)
           ORDER BY r.id DESC LIMIT 1"""
_OLDEST = """SELECT r.number AS number FROM runs r WHERE r.pond = :pond AND r.state = 'completed' AND NOT EXISTS
             (SELECT 1 FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
              WHERE o.run = r.id AND s.tombstoned_at IS NOT NULL) ORDER BY r.id LIMIT 1"""
_KEPT = """SELECT r.id AS id FROM runs r WHERE r.id = :run AND NOT EXISTS
           (SELECT 1 FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
            WHERE o.run = r.id AND s.tombstoned_at IS NOT NULL)"""


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
    """Answer the Run of a Pond at that moment, or the nearest one before it that is kept.

    Raises `NotThere` with the oldest one that can be read.
    """
    pinned = as_of.runs.get(pond.key)
    run = None if pinned is None else tx.row(_KEPT, int, run=pinned)
    if run is None or not _is_whole(tx, run):
        run = tx.row(_THEN, int, pond=pond.id, at=as_of.at)
    if run is not None and _is_whole(tx, run):
        return run
    oldest = tx.row(_OLDEST, int, pond=pond.id)
    name = pond.key.partition("@")[0]
    if len(tx.rows(_MAJORS, int, pond=pond.id)) > 1:
        name = pond.key
    is_gone = run is not None or pinned is not None or _was_there(tx, pond.id, as_of.at)
    what = "no longer has the data of that time" if is_gone else "has no completed Run of that time"
    then = "there is none at all" if oldest is None else f"the oldest to read is {name}#{oldest}"
    raise NotThere(
        f"{name} {what}; {then}", hint=f"pondage runs {name}", code="NOT_RETAINED" if is_gone else "NO_RUN_THEN"
    )


_MARKED = """SELECT id FROM runs WHERE pond = :pond AND state = 'completed' AND freshness - delay <= :at LIMIT 1"""


def _was_there(tx: Transaction, pond: int, at: int) -> bool:
    if tx.row(_MARKED, pond=pond, at=at) is not None:
        return True
    return any(run.moment <= at for run in past.runs_between(tx, pond, since=0, until=tx.now))


class _Shown(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    moment: int
    ended_at: int


def missed(tx: Transaction, pond: PondRow, as_of: AsOf) -> tuple[int, int] | None:
    """Answer the numbers of the Run that is read of a Pond and of the one that was meant, when that is not kept."""
    shown = tx.one(
        "SELECT number, freshness - delay AS moment, ended_at FROM runs WHERE id = :id",
        _Shown,
        id=run_then(tx, pond, as_of),
    )
    # What is marked for deletion is still a row; what has gone is a line of the past.
    marked = tx.rows(_NEWER, int, pond=pond.id, number=shown.number, moment=shown.moment, at=as_of.at)
    gone = [
        run.number
        for run in past.runs_between(tx, pond.id, since=shown.ended_at, until=tx.now)
        if run.number > shown.number and shown.moment < run.moment <= as_of.at and run.state == "completed"
    ]
    newer = [*marked, *gone]
    return (shown.number, max(newer)) if newer else None


_NEWER = """SELECT number FROM runs WHERE pond = :pond AND state = 'completed' AND number > :number
            AND freshness - delay > :moment AND freshness - delay <= :at ORDER BY number DESC LIMIT 1"""
