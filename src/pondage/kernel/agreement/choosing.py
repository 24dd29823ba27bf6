"""Which Runs of its Sources a new Run reads: the newest that keep its label and agree on what they stand on.

A Run remembers, for the ancestors that some Pond below reaches by two ways, which of their Runs it stands on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from pondage.define.values.names import PondKey

Standing = Mapping[str, tuple[str, ...]]
"""For each remembered ancestor, what identifies the outputs of its Runs that were read; more than one in a splice."""

MOST_COMBINATIONS = 2_000


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A completed Run that could be read. Runs with equal `outputs` count as the same."""

    run: int
    freshness: int
    outputs: str
    standing: Standing
    spliced_from: tuple[str, ...] = ()
    """Where what its readers see is not coherent: itself, or the nearest above it."""


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One Source of a new Run, and its completed Runs that could be read, the newest first."""

    source: PondKey
    candidates: Sequence[Candidate]

    @property
    def newest(self) -> Candidate | None:
        """The newest Run; None for a Source that never ran."""
        return self.candidates[0] if self.candidates else None


def offered(source: PondKey, runs: Sequence[Candidate], *, freshness: int, is_required: bool, not_before: int) -> Offer:
    """Offer those of a Source's Runs that a Run at `freshness` may read; `not_before` is the one that was read last.

    An older one may serve as long as it keeps the label and does not go back behind the last.
    """
    return Offer(
        source=source,
        candidates=[
            run
            for position, run in enumerate(runs)
            if position == 0 or (run.run >= not_before and (run.freshness >= freshness or not is_required))
        ],
    )


def agreeing(offers: Sequence[Offer], tracks: Sequence[str]) -> tuple[Candidate | None, ...] | None:
    """Choose the newest combination that stands on one Run of each ancestor in `tracks`; None when there is none."""
    return next((chosen for chosen in _combinations(offers) if _agrees(offers, chosen, tracks)), None)


def stands_on(
    offers: Sequence[Offer], chosen: Sequence[Candidate | None], tracks: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Give what a Run that reads these stands on."""
    found: dict[str, set[str]] = {ancestor: set() for ancestor in tracks}
    for offer, run in zip(offers, chosen, strict=True):
        for ancestor in tracks:
            found[ancestor].update(_of(offer.source, run, ancestor))
    return {ancestor: tuple(sorted(identities)) for ancestor, identities in found.items() if identities}


def behind(offers: Sequence[Offer], tracks: Sequence[str], age: Mapping[tuple[str, str], int]) -> tuple[PondKey, ...]:
    """Give the Sources whose newest Runs stand on anything but the newest Run of an ancestor that some stand on.

    `age` orders the Runs of an ancestor by what identifies them; one that is not in it is older than all.
    """
    newest = [offer.newest for offer in offers]
    found: dict[PondKey, None] = {}
    for ancestor, identities in stands_on(offers, newest, tracks).items():
        latest = max(identities, key=lambda identity: (age.get((ancestor, identity), -1), identity))
        for offer, run in zip(offers, newest, strict=True):
            if set(_of(offer.source, run, ancestor)) - {latest}:
                found[offer.source] = None
    return tuple(found)


def _of(source: PondKey, run: Candidate | None, ancestor: str) -> tuple[str, ...]:
    if run is None:
        return ()
    return (run.outputs,) if source == ancestor else run.standing.get(ancestor, ())


def _agrees(offers: Sequence[Offer], chosen: Sequence[Candidate | None], tracks: Sequence[str]) -> bool:
    return all(len(identities) <= 1 for identities in stands_on(offers, chosen, tracks).values())


def _combinations(offers: Sequence[Offer]) -> Iterator[tuple[Candidate | None, ...]]:
    """Answer combinations, those that go back least first, up to a limit."""
    sizes = [max(len(offer.candidates), 1) for offer in offers]
    given = 0
    for back in range(sum(size - 1 for size in sizes) + 1):
        for positions in _sums(sizes, back):
            yield tuple(
                offer.candidates[at] if offer.candidates else None for offer, at in zip(offers, positions, strict=True)
            )
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
