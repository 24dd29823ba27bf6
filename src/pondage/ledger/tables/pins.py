"""Pins: which completed Run of each Source a new Run reads, so that a diamond is never silently a splice.

A Run remembers, for the ancestors that some Pond below reaches by two ways, which of their Runs it stands on. Choosing
pins then means: the newest Runs of the Sources that keep the label F and stand on the same Run of every such ancestor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from pondage.define.values.names import PondKey
from pondage.ledger.database.driver import Row, Transaction, number, number_or_none, text, text_or_none

Standing = Mapping[str, tuple[str, ...]]
"""For each remembered ancestor, what identifies the outputs of its Runs that were read; more than one in a splice."""

MOST_COMBINATIONS = 2_000

_standing = msgspec.json.Decoder(dict[str, tuple[str, ...]])


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A completed Run that could be pinned."""

    run: int
    freshness: int
    outputs: str
    standing: Standing


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The pins of a new Run, what it stands on, and whether no agreeing set was retained."""

    pins: dict[str, int | None]
    standing: dict[str, tuple[str, ...]]
    is_spliced: bool


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """One Source of a new Run: where to look, and how old its Run may be."""

    source: PondKey
    pond: int | None
    is_required: bool
    not_before: int
    """The Run that the Pond's latest started Run pinned: a pin never goes back behind it."""


_LAST = "SELECT max(id) AS id FROM runs WHERE pond = :pond AND state = 'completed'"


def last(tx: Transaction, wanted: Mapping[PondKey, int | None], completed: Mapping[int, int]) -> Chosen:
    """Take the last completed Run of each Source, where no diamond compares anything.

    `completed` is what this step has completed itself: a Pond's Runs end in their order, so that is the last one.
    """
    asked = {
        source: tx.ahead(_LAST, pond=pond)
        for source, pond in wanted.items()
        if pond is not None and pond not in completed
    }
    pins: dict[str, int | None] = {
        source: None if pond is None else completed.get(pond) for source, pond in wanted.items()
    }
    for source, rows in asked.items():
        pins[source] = number_or_none(rows()[0], "id")
    return Chosen(pins=pins, standing={}, is_spliced=False)


def choose(
    tx: Transaction, wanted: Sequence[Wanted], *, freshness: int, tracks: Sequence[str], is_coherent: bool, keep: int
) -> Chosen:
    """Choose a completed Run of each Source: the newest agreeing combination, else the newest of each."""
    candidates = offered(tx, wanted, freshness=freshness, keep=keep if tracks and is_coherent else 1)
    newest = [runs[0] if runs else None for runs in candidates]
    chosen: Sequence[Candidate | None] | None = newest
    if tracks and is_coherent:
        chosen = next(
            (combination for combination in _combinations(candidates) if _agrees(wanted, combination, tracks)), None
        )
    taken = newest if chosen is None else chosen
    return Chosen(
        pins={one.source: None if run is None else run.run for one, run in zip(wanted, taken, strict=True)},
        standing=_stands_on(wanted, taken, tracks),
        is_spliced=chosen is None,
    )


# The newest completed Run is never marked for deletion; the others may be.
_NEWEST = """SELECT id, freshness, outputs_digest, ancestry FROM runs
             WHERE pond = :pond AND state = 'completed' ORDER BY id DESC LIMIT :keep"""
_NEWEST_WHOLE = """SELECT r.id AS id, r.freshness AS freshness, r.outputs_digest AS outputs_digest,
                          r.ancestry AS ancestry
                   FROM (SELECT * FROM runs WHERE pond = :pond AND state = 'completed'
                         ORDER BY id DESC LIMIT :keep) r
                   WHERE NOT EXISTS (SELECT 1 FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
                                     WHERE o.run = r.id AND s.tombstoned_at IS NOT NULL)
                   ORDER BY r.id DESC"""


def offered(tx: Transaction, wanted: Sequence[Wanted], *, freshness: int, keep: int) -> list[list[Candidate]]:
    """Answer the Runs of each Source that could be pinned, the newest first. All are asked for in one go."""
    asked = [_ask(tx, one, keep=keep) for one in wanted]
    return [_candidates(one, rows(), freshness=freshness) for one, rows in zip(wanted, asked, strict=True)]


def _ask(tx: Transaction, one: Wanted, *, keep: int) -> Callable[[], list[Row]]:
    if one.pond is None:
        return list
    return tx.ahead(_NEWEST if keep == 1 else _NEWEST_WHOLE, pond=one.pond, keep=keep)


def _candidates(one: Wanted, rows: list[Row], *, freshness: int) -> list[Candidate]:
    found = [_candidate(row) for row in rows]
    # An older Run may serve as long as it keeps the label F and does not go back behind the last pin.
    return [
        run
        for position, run in enumerate(found)
        if position == 0 or (run.run >= one.not_before and (run.freshness >= freshness or not one.is_required))
    ]


def _candidate(row: Row) -> Candidate:
    return Candidate(
        run=number(row, "id"),
        freshness=number(row, "freshness"),
        outputs=text_or_none(row, "outputs_digest") or f"run {number(row, 'id')}",
        standing=_standing.decode(text(row, "ancestry")),
    )


def _combinations(offered: Sequence[Sequence[Candidate]]) -> Iterator[tuple[Candidate | None, ...]]:
    """Answer combinations, those that go back least first, up to a limit."""
    sizes = [max(len(runs), 1) for runs in offered]
    given = 0
    for back in range(sum(size - 1 for size in sizes) + 1):
        for positions in _sums(sizes, back):
            yield tuple(runs[at] if runs else None for runs, at in zip(offered, positions, strict=True))
            given += 1
            if given >= MOST_COMBINATIONS:
                return


def _sums(sizes: Sequence[int], total: int) -> Iterator[tuple[int, ...]]:
    """Answer every choice of one position below each size whose sum is `total`."""
    pending: list[tuple[tuple[int, ...], int]] = [((), total)]
    while pending:
        chosen, left = pending.pop()
        if len(chosen) == len(sizes):
            if left == 0:
                yield chosen
            continue
        most = sum(size - 1 for size in sizes[len(chosen) + 1 :])
        positions = range(min(left, sizes[len(chosen)] - 1), max(left - most, 0) - 1, -1)
        pending.extend(((*chosen, position), left - position) for position in positions)


def _agrees(wanted: Sequence[Wanted], runs: Sequence[Candidate | None], tracks: Sequence[str]) -> bool:
    standing = _stands_on(wanted, runs, tracks)
    return all(len(identities) <= 1 for identities in standing.values())


def _stands_on(
    wanted: Sequence[Wanted], runs: Sequence[Candidate | None], tracks: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {ancestor: set() for ancestor in tracks}
    for one, run in zip(wanted, runs, strict=True):
        if run is None:
            continue
        for ancestor in tracks:
            if one.source == ancestor:
                found[ancestor].add(run.outputs)
            else:
                found[ancestor].update(run.standing.get(ancestor, ()))
    return {ancestor: tuple(sorted(identities)) for ancestor, identities in found.items() if identities}
