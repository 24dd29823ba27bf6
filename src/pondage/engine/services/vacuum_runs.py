"""Deleting what runs of jobs left behind: tables between components, and files that no run names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pondage.engine.process.local import local_warehouse
from pondage.ledger.ledger import Ledger
from pondage.ledger.upkeep import job_pruning


def sweep_runs(ledger: Ledger, root: Path, remove: Callable[[Path], int], *, grace_us: int, dry_run: bool) -> int:
    """Mark tables that are out of retention, and remove the files of those marked a grace ago; answer the bytes."""
    if not dry_run:
        job_pruning.mark(ledger)
    size = 0
    while True:
        with ledger.reading() as tx:
            doomed = job_pruning.sweepable(tx, before=tx.now - grace_us)
        for path in sorted({table.path for table in doomed}):
            place = local_warehouse(path)
            # The path is the ledger's, and yet: nothing outside the warehouse is ever deleted.
            if place is not None and place.resolve().is_relative_to(root.resolve()):
                size += remove(place)
        if dry_run or not doomed:
            return size
        with ledger.transaction() as tx:
            job_pruning.swept(tx, [table.id for table in doomed])


def run_orphans(ledger: Ledger, root: Path, is_old: Callable[[Path], bool]) -> list[Path]:
    """Answer every old `runs/<run>/<dispatch>/<port>/<token>` that no run has a table in."""
    found = [
        place
        for place in sorted((root / "runs").glob("*/*/*/*"))
        if place.is_dir() and not place.is_symlink() and is_old(place)
    ]
    with ledger.reading() as tx:
        kept = job_pruning.kept_tokens(tx, sorted({place.name for place in found}))
    return [place for place in found if place.name not in kept]
