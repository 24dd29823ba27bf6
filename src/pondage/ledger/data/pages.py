"""Pages of a manifest: which snapshot has the files of each partition, in the order of the partitions.

A page is never changed. A Run that replaces a partition writes the one page that holds it again, and the manifests of
the table before and after it share all others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import msgspec

from pondage.define.pond.partition import Partition
from pondage.ledger.database.driver import Transaction, batches, numbered

MOST_ENTRIES = 64
"""How many partitions a page has at most. Of 10,000 partitions that are 160 pages: little to write, little to list."""


class Member(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """A snapshot whose files belong to a table: all of them, or those at these positions."""

    snapshot: int
    files: tuple[int, ...] | None = None


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One partition of a table: its files, its sizes, and the Run and the code that made its rows.

    `small` is how many of its files are worth putting together with another one of it.
    """

    partition: Partition
    member: Member
    rows: int
    bytes: int
    small: int
    run: str
    code: str
    made_at: int


class PageRef(msgspec.Struct, frozen=True, array_like=True):
    """A page as a manifest names it: `first` is the place of its first partition in the order of all."""

    id: int
    first: str
    partitions: int
    rows: int
    bytes: int
    small: int


def place_of(partition: Partition) -> str:
    """Answer where a partition stands among others."""
    return msgspec.json.encode(partition).decode()


def entries(tx: Transaction, pages: Iterable[PageRef]) -> dict[int, tuple[Entry, ...]]:
    """Answer what each of these pages holds; a page that several manifests share is read once."""
    found: dict[int, tuple[Entry, ...]] = {}
    for some in batches(sorted({page.id for page in pages})):
        marks, values = numbered("id", some)
        found.update(
            tx.rows(f"SELECT id, entries FROM pages WHERE id IN ({marks})", tuple[int, tuple[Entry, ...]], **values)
        )
    return found


def listed(tx: Transaction, pages: Sequence[PageRef], only: Iterable[Partition] | None = None) -> list[Entry]:
    """Answer the partitions of a table in their order: all, or those of `only` that it has, from their pages alone."""
    if only is None:
        found = entries(tx, pages)
        return [entry for page in pages for entry in found[page.id]]
    wanted = set(only)
    held = _holding(pages, wanted)
    found = entries(tx, held)
    return [entry for page in held for entry in found[page.id] if entry.partition in wanted]


def replaced(
    tx: Transaction, pages: Sequence[PageRef], gone: Iterable[Partition], made: Iterable[Entry]
) -> tuple[PageRef, ...]:
    """Answer the pages of a table in which these partitions are `made` new, or gone; only what differs is written."""
    new = {entry.partition: entry for entry in made}
    old = set(gone) | new.keys()
    held = _holding(pages, old)
    found = entries(tx, held)
    starts = [page.first for page in pages]
    coming: dict[int, list[Entry]] = {page.id: [] for page in held}
    for entry in new.values():
        coming.setdefault(pages[_at(starts, entry.partition)].id if pages else 0, []).append(entry)
    written: list[PageRef] = [] if pages else _write(tx, coming.get(0, []))
    for page in pages:
        if page.id not in coming:
            written.append(page)
            continue
        kept = [entry for entry in found[page.id] if entry.partition not in old]
        written += (
            [page] if len(kept) == page.partitions and not coming[page.id] else _write(tx, kept + coming[page.id])
        )
    return tuple(written)


def rewritten(
    tx: Transaction,
    pages: Sequence[PageRef],
    change: Callable[[Entry], Entry],
    only: set[Partition],
    known: dict[int, PageRef],
) -> tuple[PageRef, ...]:
    """Answer the pages with some partitions changed; `known` has what became of pages of other manifests."""
    held = [page for page in _holding(pages, only) if page.id not in known]
    was = entries(tx, held)
    for page in held:
        now = tuple(change(entry) for entry in was[page.id])
        known[page.id] = page if now == was[page.id] else _insert(tx, now)
    return tuple(known.get(page.id, page) for page in pages)


def _holding(pages: Sequence[PageRef], partitions: Iterable[Partition]) -> list[PageRef]:
    starts = [page.first for page in pages]
    return [pages[at] for at in sorted({_at(starts, each) for each in partitions})] if pages else []


def _at(starts: Sequence[str], partition: Partition) -> int:
    """Answer which page holds a partition if any does; what comes before all belongs to the first."""
    return max(0, bisect_right(starts, place_of(partition)) - 1)


def _write(tx: Transaction, given: Sequence[Entry]) -> list[PageRef]:
    ordered = sorted(given, key=lambda entry: place_of(entry.partition))
    count = -(-len(ordered) // MOST_ENTRIES)
    # Of equal size: a page that was split has room.
    bounds = [len(ordered) * number // count for number in range(count + 1)] if count else []
    return [_insert(tx, ordered[start:end]) for start, end in pairwise(bounds)]


def _insert(tx: Transaction, given: Sequence[Entry]) -> PageRef:
    made = tx.one(
        "INSERT INTO pages (entries) VALUES (:entries) RETURNING id", int, entries=msgspec.json.encode(given).decode()
    )
    return PageRef(
        id=made,
        first=place_of(given[0].partition),
        partitions=len(given),
        rows=sum(entry.rows for entry in given),
        bytes=sum(entry.bytes for entry in given),
        small=sum(entry.small for entry in given),
    )


def forget(tx: Transaction, pages: Iterable[PageRef], kept: Iterable[PageRef]) -> None:
    """Delete pages that no manifest names any more."""
    for some in batches(sorted({page.id for page in pages} - {page.id for page in kept})):
        marks, values = numbered("id", some)
        tx.change(f"DELETE FROM pages WHERE id IN ({marks})", **values)
