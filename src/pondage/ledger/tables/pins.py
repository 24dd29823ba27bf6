"""Pins: which completed Run of each Source a new Run reads, so that a diamond is never silently a splice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from pondage.define.values.names import PondKey
from pondage.kernel.agreement.choosing import Candidate, Offer, agreeing, behind, offered, stands_on
from pondage.ledger.database.driver import Row, Transaction, number, text, text_or_none

_standing = msgspec.json.Decoder(dict[str, tuple[str, ...]])
_names = msgspec.json.Decoder(tuple[str, ...])


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The pins of a new Run, what it stands on, and whether no agreeing set was retained.

    `spliced_from` names the Runs above it, the nearest on each way, that were spliced themselves.
    """

    pins: dict[str, int | None] = {}
    standing: dict[str, tuple[str, ...]] = {}
    is_spliced: bool = False
    spliced_from: tuple[str, ...] = ()


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """One Source of a new Run: where to look, and how old its Run may be."""

    source: PondKey
    pond: int | None
    is_required: bool
    not_before: int
    """The Run that the Pond's latest started Run pinned: a pin never goes back behind it."""


class Last(msgspec.Struct, frozen=True, kw_only=True):
    """The last completed Run of a Pond, and which splices its readers see."""

    run: int
    spliced_from: tuple[str, ...]


_LAST = """SELECT id, number, is_spliced, spliced_from FROM runs
           WHERE pond = :pond AND state = 'completed' ORDER BY id DESC LIMIT 1"""


def last(tx: Transaction, wanted: Mapping[PondKey, int | None], completed: Mapping[int, Last]) -> Chosen:
    """Take the last completed Run of each Source, where no diamond compares anything.

    `completed` is what this step has completed itself: a Pond's Runs end in their order, so that is the last one.
    """
    asked = {
        source: tx.ahead(_LAST, pond=pond)
        for source, pond in wanted.items()
        if pond is not None and pond not in completed
    }
    found: dict[str, Last | None] = {
        source: None if pond is None else completed.get(pond) for source, pond in wanted.items()
    }
    for source, rows in asked.items():
        for row in rows():
            found[source] = Last(run=number(row, "id"), spliced_from=_seen_splices(source, row))
    return Chosen(
        pins={source: None if run is None else run.run for source, run in found.items()},
        spliced_from=_union(run.spliced_from for run in found.values() if run is not None),
    )


def seen_splices(pond: str, run_number: int, *, is_spliced: bool, above: tuple[str, ...]) -> tuple[str, ...]:
    """Answer which splices the readers of a Run see: the Run itself, or the nearest above it."""
    return (f"{pond}#{run_number}",) if is_spliced else above


def choose(
    tx: Transaction, wanted: Sequence[Wanted], *, freshness: int, tracks: Sequence[str], is_coherent: bool, keep: int
) -> Chosen:
    """Choose a completed Run of each Source: the newest agreeing combination, else the newest of each."""
    is_choosing = bool(tracks) and is_coherent
    offers = offers_of(tx, wanted, freshness=freshness, keep=keep if is_choosing else 1)
    found = agreeing(offers, tracks) if is_choosing else None
    taken = [offer.newest for offer in offers] if found is None else found
    return Chosen(
        pins={offer.source: None if run is None else run.run for offer, run in zip(offers, taken, strict=True)},
        standing=stands_on(offers, taken, tracks),
        is_spliced=is_choosing and found is None,
        spliced_from=_union(run.spliced_from for run in taken if run is not None),
    )


def disagreeing(tx: Transaction, wanted: Sequence[Wanted], *, tracks: Mapping[str, int | None]) -> tuple[PondKey, ...]:
    """Answer the Sources whose newest Runs stand on older Runs of an ancestor than those of the others.

    `tracks` are the ancestors that are compared, each with its Pond; None for one that is not deployed any more.
    """
    offers = offers_of(tx, wanted, freshness=0, keep=1)
    standing = stands_on(offers, [offer.newest for offer in offers], list(tracks))
    age = {
        (ancestor, identity): tx.one(_WHEN, int, pond=tracks[ancestor], identity=identity)
        for ancestor, identities in standing.items()
        if len(identities) > 1
        for identity in identities
    }
    return behind(offers, list(tracks), age)


# By the index over the completed Runs of a Pond; only where inputs disagree.
_WHEN = """SELECT coalesce(max(id), -1) AS id FROM runs
           WHERE pond = :pond AND state = 'completed' AND coalesce(outputs_digest, 'run ' || id) = :identity"""

# The newest completed Run is never marked for deletion; the others may be.
_NEWEST = """SELECT id, number, freshness, outputs_digest, ancestry, is_spliced, spliced_from FROM runs
             WHERE pond = :pond AND state = 'completed' ORDER BY id DESC LIMIT :keep"""
_NEWEST_WHOLE = """SELECT r.id AS id, r.number AS number, r.freshness AS freshness,
                          r.outputs_digest AS outputs_digest, r.ancestry AS ancestry, r.is_spliced AS is_spliced,
                          r.spliced_from AS spliced_from
                   FROM (SELECT * FROM runs WHERE pond = :pond AND state = 'completed'
                         ORDER BY id DESC LIMIT :keep) r
                   WHERE NOT EXISTS (SELECT 1 FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
                                     WHERE o.run = r.id AND s.tombstoned_at IS NOT NULL)
                   ORDER BY r.id DESC"""


def offers_of(tx: Transaction, wanted: Sequence[Wanted], *, freshness: int, keep: int) -> list[Offer]:
    """Answer the Runs of each Source that could be pinned, the newest first. All are asked for in one go."""
    asked = [_ask(tx, one, keep=keep) for one in wanted]
    return [
        offered(
            one.source,
            [_candidate(one.source, row) for row in rows()],
            freshness=freshness,
            is_required=one.is_required,
            not_before=one.not_before,
        )
        for one, rows in zip(wanted, asked, strict=True)
    ]


def _ask(tx: Transaction, one: Wanted, *, keep: int) -> Callable[[], list[Row]]:
    if one.pond is None:
        return list
    return tx.ahead(_NEWEST if keep == 1 else _NEWEST_WHOLE, pond=one.pond, keep=keep)


def _candidate(source: str, row: Row) -> Candidate:
    return Candidate(
        run=number(row, "id"),
        freshness=number(row, "freshness"),
        outputs=text_or_none(row, "outputs_digest") or f"run {number(row, 'id')}",
        standing=_standing.decode(text(row, "ancestry")),
        spliced_from=_seen_splices(source, row),
    )


def _seen_splices(source: str, row: Row) -> tuple[str, ...]:
    above = text(row, "spliced_from")
    return seen_splices(source, number(row, "number"), is_spliced=bool(row["is_spliced"]), above=_names.decode(above))


def _union(names: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in names for name in each))
