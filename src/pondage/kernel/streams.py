"""The log of a stream as pure rules: where a segment goes, when its writer waits, and which wait is lifted."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum

import msgspec

from pondage.define.types.segment import Segment

MAX_SEGMENTS = 64
"""How many segments a reader may be behind before the writer waits for it."""


class Placed(StrEnum):
    """What becomes of an entry that a writer hands in."""

    APPENDED = "appended"
    SKIPPED = "skipped"
    """It was committed by an earlier attempt, and is equal."""
    MISMATCH = "mismatch"
    """An earlier attempt committed something else at this place."""
    GAP = "gap"
    """The entry before it is missing."""


def place(seq: int, entry: Segment, *, tail: int, is_closed: bool, known: Segment | None) -> Placed:
    """Decide about an entry; `tail` is the number of entries in the log, `known` the one that is at `seq` already.

    A restarted writer begins at 0 again: as long as it hands in what is there, nothing changes.
    """
    if known is not None:
        return Placed.SKIPPED if known.is_same(entry) else Placed.MISMATCH
    if is_closed:
        return Placed.MISMATCH
    return Placed.APPENDED if seq == tail else Placed.GAP


class Limits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much a reader may be behind."""

    segments: int = MAX_SEGMENTS
    rows: int | None = None
    bytes: int | None = None


class Flight(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader has not read yet."""

    segments: int = 0
    rows: int = 0
    bytes: int = 0


def is_full(flight: Flight, limits: Limits) -> bool:
    """Must the writer wait? Never when the reader has everything: one segment may be larger than any limit."""
    if not flight.segments:
        return False
    return (
        flight.segments >= limits.segments
        or (limits.rows is not None and flight.rows >= limits.rows)
        or (limits.bytes is not None and flight.bytes >= limits.bytes)
    )


class Wait(msgspec.Struct, frozen=True):
    """Somebody waits for somebody else on an edge; `behind` says how full it is when it is a writer that waits."""

    waiter: str
    other: str
    edge: str
    behind: int = 0

    @property
    def is_put(self) -> bool:
        """Does a writer wait?"""
        return self.behind > 0


def lifted(waits: Collection[Wait]) -> frozenset[str]:
    """Give the edges whose limit does not hold: of each circle of waiting puts and takes, the fullest one (C-27)."""
    circles: dict[frozenset[str], list[Wait]] = {}
    for wait in waits:
        if wait.is_put and wait.waiter in _reached(wait.other, waits):
            members = frozenset(one for one in _reached(wait.waiter, waits) if wait.waiter in _reached(one, waits))
            circles.setdefault(members, []).append(wait)
    return frozenset(max(found, key=lambda one: (one.behind, one.edge)).edge for found in circles.values())


def _reached(start: str, waits: Iterable[Wait]) -> set[str]:
    """Give whoever is waited for, directly or not, including the start itself."""
    found, open_ = {start}, [start]
    while open_:
        at = open_.pop()
        for wait in waits:
            if wait.waiter == at and wait.other not in found:
                found.add(wait.other)
                open_.append(wait.other)
    return found
