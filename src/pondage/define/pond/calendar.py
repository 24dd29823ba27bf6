"""From Windows to concrete occurrences: [start, end) in microseconds UTC.

The demand machine knows no zones: it asks for the occurrence that holds `now` and for the next start. A local time that
does not exist (clocks go forward) moves forward by the length of the gap; one that exists twice is the first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from pondage.define.pond.definition import WindowDefinition
from pondage.define.pond.window import window_text
from pondage.errors import DefinitionError

_DAY_US = 86_400_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHIFT_DAYS = 2  # a zone's date differs from UTC's by at most one day, and a Window may end on the day after its start
_WEEK = 7 * 24 * 60


class Calendar:
    """The occurrences of a Pond's Windows. Pure: the same moment always has the same answer."""

    def __init__(self, windows: Sequence[WindowDefinition]) -> None:
        self._windows = tuple(windows)
        self._zones = {window.tz: ZoneInfo(window.tz) for window in windows}
        self._known: dict[int, tuple[list[int], list[int]]] = {}

    def occurrence(self, now: int) -> tuple[int, int] | None:
        """Answer the occurrence with start <= now < end, or None between Windows."""
        starts, ends = self._around(now)
        index = bisect_right(starts, now) - 1
        if index < 0 or now >= ends[index]:
            return None
        return starts[index], ends[index]

    def next_start(self, now: int) -> int | None:
        """Answer the first start after `now`, or None when there are no Windows."""
        starts, _ = self._around(now)
        index = bisect_right(starts, now)
        return starts[index] if index < len(starts) else None

    def _around(self, now: int) -> tuple[list[int], list[int]]:
        # A week back holds the last start of a weekly rule, two weeks ahead the next: one may fall into a gap.
        day = now // _DAY_US
        known = self._known.get(day)
        if known is None:
            if len(self._known) > 8:
                self._known.clear()
            known = self._known[day] = self._occurrences(day)
        return known

    def _occurrences(self, day: int) -> tuple[list[int], list[int]]:
        middle = date(1970, 1, 1) + timedelta(days=day)
        own_end: dict[int, int | None] = {}
        for window in self._windows:
            for offset in range(-7 - _SHIFT_DAYS, 14 + 2 * _SHIFT_DAYS):
                on = middle + timedelta(days=offset)
                if on.weekday() in window.weekdays:
                    self._add(window, on, own_end)
        starts = sorted(own_end)
        ends: list[int] = []
        for index, start in enumerate(starts):
            end = own_end[start]
            following = starts[index + 1] if index + 1 < len(starts) else None
            # A shift of the clocks may push a start over its neighbour's end: the neighbour is cut, never doubled.
            choices = [each for each in (end, following) if each is not None]
            ends.append(min(choices) if choices else start)
        return starts, ends

    def _add(self, window: WindowDefinition, on: date, own_end: dict[int, int | None]) -> None:
        zone = self._zones[window.tz]
        start = _moment(on, window.start, zone)
        if window.end is None:
            own_end.setdefault(start, None)
            return
        end = _moment(on if window.end > window.start else on + timedelta(days=1), window.end, zone)
        if end > start:  # a Window whose start moved past its end does not happen on that day
            own_end[start] = max(own_end.get(start) or 0, end)


def checked_windows(windows: Sequence[WindowDefinition], *, place: str | None = None) -> tuple[WindowDefinition, ...]:
    """Answer the Windows of one Pond, or raise `DefinitionError` naming the two that overlap."""
    pair = _overlapping(windows)
    if pair is not None:
        one, other = (windows[at] for at in sorted(pair))
        raise DefinitionError(
            f"two windows overlap: {window_text(one)} and {window_text(other)}",
            hint="end one before the other starts; a window without an end lasts until the next start",
            place=place,
            code="WINDOWS_OVERLAP",
        )
    return tuple(windows)


def _overlapping(windows: Sequence[WindowDefinition]) -> tuple[int, int] | None:
    """Answer two Windows that overlap, by their positions, or None. The spans of each are made once."""
    zones: dict[str, list[int]] = {}
    for at, window in enumerate(windows):
        zones.setdefault(window.tz, []).append(at)
    for members in zones.values():
        spans = [
            (start + shift, end + shift, at, at)
            for at in members
            for start, end in _weekly(windows[at])
            for shift in (-_WEEK, 0, _WEEK)
        ]
        if (pair := _swept(spans)) is not None:
            return pair
    if len(zones) < 2:
        return None
    # The distance of two zones changes over a year, so a year of real occurrences is compared, of different zones.
    numbers = {name: number for number, name in enumerate(zones)}
    return _swept(
        [(start, end, at, numbers[windows[at].tz]) for at in range(len(windows)) for start, end in _yearly(windows[at])]
    )


def _swept(spans: list[tuple[int, int, int, int]]) -> tuple[int, int] | None:
    """Answer two spans of different sides that overlap, by their Windows: (start, end, Window, side)."""
    reach: dict[int, tuple[int, int]] = {}
    furthest: list[int] = []  # the two sides that reach furthest: one of them is not that of the span
    for start, end, at, side in sorted(spans):
        for other in furthest:
            if other != side and start < reach[other][0]:
                return reach[other][1], at
        if side not in reach or end > reach[side][0]:
            reach[side] = end, at
            furthest = sorted({*furthest, side}, key=lambda each: -reach[each][0])[:2]
    return None


def _weekly(window: WindowDefinition) -> list[tuple[int, int]]:
    # An open Window gives way to any start but its own, so it occupies one minute.
    start = _minutes(window.start)
    length = 1 if window.end is None else (_minutes(window.end) - start) % (24 * 60) or 24 * 60
    return [(day * 24 * 60 + start, day * 24 * 60 + start + length) for day in window.weekdays]


def _yearly(window: WindowDefinition) -> list[tuple[int, int]]:
    zone = ZoneInfo(window.tz)
    spans: list[tuple[int, int]] = []
    for offset in range(366):
        on = date(2024, 1, 1) + timedelta(days=offset)
        if on.weekday() not in window.weekdays:
            continue
        start = _moment(on, window.start, zone)
        if window.end is None:
            spans.append((start, start + 1))
        else:
            last_day = on if window.end > window.start else on + timedelta(days=1)
            spans.append((start, _moment(last_day, window.end, zone)))
    return spans


def _minutes(text: str) -> int:
    return int(text[:2]) * 60 + int(text[3:])


def _moment(on: date, at: str, zone: ZoneInfo) -> int:
    # fold=0 is exactly the rule: the first of two, and the offset before a gap, which lands after it.
    local = datetime.combine(on, time(int(at[:2]), int(at[3:])), tzinfo=zone)
    delta = local.astimezone(UTC) - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000
