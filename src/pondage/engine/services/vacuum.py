"""Deleting data that nobody needs: snapshots out of retention, and files that no snapshot names."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from pondage.engine.process.local import local_warehouse
from pondage.ledger.ledger import Ledger
from pondage.ledger.upkeep import job_pruning, pruning, retention
from pondage.ledger.upkeep.thinning import thin

DAY_S = 86_400.0
READER_GRACE_S = 3_600.0
"""How long files of a marked snapshot stay: somebody may have looked it up before it was marked and read it still."""
NAMED = 1_000
"""How many of each a report names."""

_log = logging.getLogger(__name__)


class VacuumReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was deleted, or would be: Runs that are not kept any more, snapshots marked now, snapshots and orphans whose
    files went, old logs, and Runs that left the ledger. The first of each are named, all are counted."""

    dry_run: bool
    thinned: int = 0
    tombstoned: tuple[str, ...] = ()
    tombstoned_count: int = 0
    swept: tuple[str, ...] = ()
    swept_count: int = 0
    orphans: tuple[str, ...] = ()
    orphan_count: int = 0
    logs: int = 0
    bytes: int = 0
    runs: int = 0


class _Named:
    """Counts everything and remembers the first names: a vacuum after years deletes millions."""

    def __init__(self) -> None:
        self.count = 0
        self.bytes = 0
        self._names: list[str] = []

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._names)

    def add(self, name: str, size: int = 0) -> None:
        self.count += 1
        self.bytes += size
        if self.count <= NAMED:
            self._names.append(name)


def orphan_grace_s(ledger: Ledger) -> float:
    """Answer how old files without a snapshot must be: longer than a zombie of any claim can go on writing."""
    return max(READER_GRACE_S, 2 * ledger.durability.reap_after_s)


def vacuum(ledger: Ledger, warehouse: str, *, dry_run: bool = False) -> VacuumReport:
    """Delete what nobody needs and answer what that was; with `dry_run` only answer it.

    A snapshot is marked first and its files go in a later call, a grace later. What a zombie writes after that is found
    again as an orphan. Two calls at once do no harm. Files on another file system are not touched. Thinned Runs without
    data leave the ledger, one small batch at a time.
    """
    thinned = thin(ledger, dry_run=dry_run)
    doomed = _mark(ledger, dry_run=dry_run)
    root = local_warehouse(warehouse)
    if root is None:
        return VacuumReport(
            dry_run=dry_run,
            thinned=thinned,
            tombstoned=doomed.names,
            tombstoned_count=doomed.count,
            runs=_prune(ledger, dry_run=dry_run),
        )
    run_bytes = sweep_runs(
        ledger,
        root,
        lambda place: _removed(place, dry_run=dry_run),
        grace_us=int(READER_GRACE_S * 1e6),
        dry_run=dry_run,
    )
    swept = _sweep(ledger, root, dry_run=dry_run)
    orphans = _sweep_orphans(ledger, root, dry_run=dry_run)
    return VacuumReport(
        dry_run=dry_run,
        thinned=thinned,
        tombstoned=doomed.names,
        tombstoned_count=doomed.count,
        swept=swept.names,
        swept_count=swept.count,
        orphans=orphans.names,
        orphan_count=orphans.count,
        logs=_sweep_logs(ledger, root, dry_run=dry_run),
        bytes=swept.bytes + orphans.bytes + run_bytes,
        runs=_prune(ledger, dry_run=dry_run),
    )


def _prune(ledger: Ledger, *, dry_run: bool) -> int:
    return pruning.prune(ledger, dry_run=dry_run) + job_pruning.prune(ledger, dry_run=dry_run)


def _mark(ledger: Ledger, *, dry_run: bool) -> _Named:
    doomed = _Named()
    read = _being_read(ledger)
    after: int | None = 0
    while after is not None:
        with ledger.reading() as tx:
            found = retention.unused(tx, young_us=_young_us(ledger), read=read, after=after)
        if found.snapshots and not dry_run:
            with ledger.transaction() as tx:
                retention.tombstone(tx, [each.id for each in found.snapshots])
        for each in found.snapshots:
            doomed.add(each.public_id)
        after = found.after
    return doomed


def _young_us(ledger: Ledger) -> int:
    return ledger.durability.keeping.all_us


def _being_read(ledger: Ledger) -> set[int]:
    with ledger.reading() as tx:
        return retention.being_read(tx, followed_us=int(ledger.durability.retention_days * DAY_S * 1e6))


def _still_doomed(
    ledger: Ledger, marked: list[retention.DoomedSnapshot], read: set[int]
) -> list[retention.DoomedSnapshot]:
    """Answer the marked snapshots that nobody needs, and take the mark from the others.

    A Run that was starting while they were marked may have pinned one. Whoever looks since passes marked ones over, and
    no transaction is as old as the grace: what is not needed now never will be.
    """
    with ledger.reading() as tx:
        used = retention.used_again(tx, [each.id for each in marked], young_us=_young_us(ledger), read=read)
    if used:
        with ledger.transaction() as tx:
            retention.revive(tx, used)
    return [each for each in marked if each.id not in used]


def _sweep(ledger: Ledger, root: Path, *, dry_run: bool) -> _Named:
    done = _Named()
    # Asked once, after everything that is swept was marked: whoever has looked since passes those over.
    limit, read = _marked_before(ledger), _being_read(ledger)
    warehouse = root.resolve()
    while True:
        with ledger.reading() as tx:
            marked = retention.tombstoned(tx, before=limit)
        doomed = marked if dry_run else _still_doomed(ledger, marked, read)
        for snapshot in doomed:
            place = local_warehouse(snapshot.path)
            # The path is the ledger's, and yet: nothing outside the warehouse is ever deleted.
            is_inside = place is not None and place.resolve().is_relative_to(warehouse)
            size = _removed(place, dry_run=dry_run) if place is not None and is_inside else 0
            done.add(snapshot.public_id, size)
        if doomed and not dry_run:
            with ledger.transaction() as tx:
                retention.swept(tx, [each.id for each in doomed])
        if dry_run or len(marked) < retention.BATCH:
            return done


def _marked_before(ledger: Ledger) -> int:
    with ledger.reading() as tx:
        return tx.now - int(READER_GRACE_S * 1e6)


def _sweep_orphans(ledger: Ledger, root: Path, *, dry_run: bool) -> _Named:
    limit_s = time.time() - orphan_grace_s(ledger)
    orphans = _Named()

    def remove(place: Path) -> None:
        orphans.add(str(place.relative_to(root)), _removed(place, dry_run=dry_run))
        if not dry_run:
            _remove_empty(place.parent, root / place.relative_to(root).parts[0])

    old = (place for place in _execution_directories(root) if _touched_s(place) < limit_s)
    while some := {place.name: place for place in islice(old, retention.BATCH)}:
        with ledger.reading() as tx:
            kept = retention.kept_tokens(tx, sorted(some))
        for token, place in some.items():
            if token not in kept:
                remove(place)
    for place in run_orphans(ledger, root, lambda place: _touched_s(place) < limit_s):
        remove(place)
    return orphans


def _execution_directories(root: Path) -> Iterator[Path]:
    """Answer every `data/<dataset>/<run>/<token>` there is."""
    for place in (root / "data").glob("*/*/*"):
        if place.is_dir() and not place.is_symlink():
            yield place


def _touched_s(place: Path) -> float:
    """Answer when something was last written in a directory."""
    try:
        return max([place.stat().st_mtime, *(each.lstat().st_mtime for each in place.rglob("*"))])
    except OSError:
        return time.time()  # it changes while we look: not old


def _removed(place: Path, *, dry_run: bool) -> int:
    """Remove a directory and answer how many bytes were in it."""
    size = sum(each.lstat().st_size for each in place.rglob("*") if each.is_file()) if place.is_dir() else 0
    if not dry_run:
        shutil.rmtree(place, ignore_errors=True)
    return size


def _remove_empty(place: Path, up_to: Path) -> None:
    while place != up_to and place.is_relative_to(up_to):
        try:
            place.rmdir()
        except OSError:
            return  # not empty, or gone
        place = place.parent


def _sweep_logs(ledger: Ledger, root: Path, *, dry_run: bool) -> int:
    limit_s = time.time() - ledger.durability.retention_days * DAY_S
    old = [file for file in (root / "logs").glob("*/*.log") if file.stat().st_mtime < limit_s]
    for file in old if not dry_run else []:
        file.unlink(missing_ok=True)
        _remove_empty(file.parent, root / "logs")
    return len(old)


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
