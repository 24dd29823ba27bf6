"""Replay of jobs: the recorded steps of a run, made again from nothing, must give its stored rows."""

from __future__ import annotations

import msgspec

from pondage.kernel.control import Event, MemoryRows, encode_row, step
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import job_runs
from pondage.ledger.tables.job_runs import JobRunRow


class ReplayedRuns(msgspec.Struct, frozen=True, kw_only=True):
    """How many steps were made again, and the rows that differ: `j1234: component load`."""

    advancements: int
    differences: tuple[str, ...]


def replay_runs(tx: Transaction, ledger: Ledger, environment: int) -> ReplayedRuns:
    """Replay every run whose history is whole; of one whose beginning retention has taken nothing can be said."""
    steps, differences = 0, []
    for run in tx.rows(
        f"SELECT {job_runs.COLUMNS} FROM job_runs WHERE environment = :environment ORDER BY id",
        JobRunRow,
        environment=environment,
    ):
        taken, found = _replay(tx, ledger, run)
        steps += taken
        differences += [f"{run.public_id}: {one}" for one in found]
    return ReplayedRuns(advancements=steps, differences=tuple(differences))


def _replay(tx: Transaction, ledger: Ledger, run: JobRunRow) -> tuple[int, list[str]]:
    recorded = tx.rows(
        "SELECT at, signals FROM advancements WHERE actor = :actor AND error IS NULL ORDER BY id",
        tuple[int, tuple[tuple[Event, ...], ...]],
        actor=run.actor,
    )
    if tx.one("SELECT version FROM actors WHERE id = :id", int, id=run.actor) > len(recorded):
        return 0, []
    rows, index = MemoryRows(), ledger.job(tx, run.definition).index
    for at, rounds in recorded:
        for events in rounds:
            step(index, rows, events, at)
    given = {
        f"{kind} {key}".rstrip(): encode_row(row).decode()
        for kind, found in rows.tables.items()
        for key, row in found.items()
    }
    stored = {
        f"{kind} {key}".rstrip(): value
        for kind, key, value in tx.rows(
            "SELECT kind, key, value FROM run_rows WHERE actor = :actor", tuple[str, str, str], actor=run.actor
        )
    }
    return len(recorded), [name for name in sorted({*given, *stored}) if given.get(name) != stored.get(name)]
