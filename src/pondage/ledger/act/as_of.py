"""The past of Ponds: which completed Run describes a moment, or belongs to another Run. Only what is kept counts."""

from __future__ import annotations

import msgspec

from pondage.define.values.names import PondKey, pond_key
from pondage.errors import NotFound
from pondage.ledger.data import manifests, snapshots
from pondage.ledger.database.driver import Transaction, number, text
from pondage.ledger.tables.actors import PondRow

_pins = msgspec.json.Decoder(dict[str, int | None])

# A Run whose data is as old as asked for; `freshness - delay` is the moment that its data describes.
_THEN = """SELECT id, number FROM runs WHERE pond = :pond AND state = 'completed' AND freshness - delay <= :at
           ORDER BY id DESC LIMIT 1"""
_OLDEST = """SELECT r.number AS number FROM runs r WHERE r.pond = :pond AND r.state = 'completed' AND NOT EXISTS
             (SELECT 1 FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
              WHERE o.run = r.id AND s.tombstoned_at IS NOT NULL) ORDER BY r.id LIMIT 1"""
_GONE = """SELECT s.id AS id FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
           WHERE o.run = :run AND s.tombstoned_at IS NOT NULL LIMIT 1"""


class NotThere(NotFound):
    """There is no data of that time: it was never made, or it is no longer retained."""

    code = "NOT_RETAINED"


class AsOf(msgspec.Struct, frozen=True, kw_only=True):
    """A moment of the past: the newest data not fresher than `at`, but of these Ponds exactly these Runs."""

    at: int
    runs: dict[PondKey, int] = {}


def as_of_run(tx: Transaction, run: int) -> AsOf:
    """Answer the moment of a completed Run: itself, what it read directly or not, and all else as fresh as it was."""
    row = tx.row(
        """SELECT r.public_id AS public_id, r.state AS state, r.freshness AS freshness, r.delay AS delay,
                  p.name AS name, p.major AS major FROM runs r JOIN ponds p ON p.id = r.pond WHERE r.id = :id""",
        id=run,
    )
    assert row is not None, f"run {run} vanished within a transaction"
    if text(row, "state") != "completed":
        raise NotThere(
            f"Run {text(row, 'public_id')} is {text(row, 'state')}: only a completed Run can be read",
            hint=f"pondage runs {text(row, 'name')} --state completed",
            code="NOT_COMPLETED",
        )
    runs = {pond_key(text(row, "name"), number(row, "major")): run}
    pending = [run]
    while pending:
        found = tx.row("SELECT pins FROM runs WHERE id = :id", id=pending.pop(0))
        for source, pinned in (_pins.decode(text(found, "pins")) if found is not None else {}).items():
            if pinned is not None and source not in runs:
                runs[PondKey(source)] = pinned
                pending.append(pinned)
    return AsOf(at=number(row, "freshness") - number(row, "delay"), runs=runs)


def _is_whole(tx: Transaction, run: int) -> bool:
    return manifests.is_whole(tx, [output.snapshot for output in snapshots.outputs(tx, run).values()])


def run_then(tx: Transaction, pond: PondRow, as_of: AsOf) -> int:
    """Answer the Run of a Pond at that moment; raises `NotThere` with the oldest one that can be read."""
    pinned = as_of.runs.get(pond.key)
    row = tx.row(_THEN, pond=pond.id, at=as_of.at)
    run = pinned if pinned is not None else None if row is None else number(row, "id")
    if run is not None and tx.row(_GONE, run=run) is None and _is_whole(tx, run):
        return run
    oldest = tx.row(_OLDEST, pond=pond.id)
    name = pond.key.partition("@")[0]
    what = "has no completed Run of that time" if run is None else "no longer has the data of that time"
    then = "there is none at all" if oldest is None else f"the oldest to read is {name}#{number(oldest, 'number')}"
    raise NotThere(
        f"{name} {what}; {then}", hint=f"pondage runs {name}", code="NO_RUN_THEN" if run is None else "NOT_RETAINED"
    )
