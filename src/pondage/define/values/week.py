"""The week of a time zone in quarter hours of its wall clock: who reads at 08:30 does so in summer and in winter.

The hour that is missing when clocks go forward has no moments, and the one that comes twice is the same four quarters.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

SECOND = 1_000_000
QUARTER = 900 * SECOND
DAY = 96
"""Quarter hours of a day."""
WEEK = 7 * DAY

_DAY_US = 86_400 * SECOND
_MONDAY = 3
"""1970-01-01 was a Thursday: the weeks are counted from the Monday before."""


class Place(NamedTuple):
    """A moment on the wall clock: the quarter hour of the week (0: Monday, midnight), the week, and the day."""

    slot: int
    week: int
    day: int


class Week:
    """The wall clock of a zone. Pure: the same moment is always at the same place."""

    def __init__(self, tz: str) -> None:
        """`tz` is the name of a zone that there is."""
        self._zone = ZoneInfo(tz)
        self._offsets: dict[int, int] = {}

    def place(self, at: int) -> Place:
        """Answer where a moment is."""
        local = at + self.offset(at)
        day = local // _DAY_US + _MONDAY
        return Place(day % 7 * DAY + local % _DAY_US // QUARTER, day // 7, day)

    def begins(self, since: int, until: int) -> Iterator[tuple[int, Place]]:
        """Give the quarter hours that begin in ``[since, until)``, in order."""
        at = -(-since // QUARTER) * QUARTER
        while at < until:
            yield at, self.place(at)
            at += QUARTER

    def next_day(self, at: int) -> int:
        """Answer the moment at which the day after that of `at` begins."""
        local = (at + self.offset(at)) // _DAY_US * _DAY_US + _DAY_US
        # The clocks may change in between; where midnight itself is missing, the day begins with what there is of it.
        begins = local - self.offset(local - self.offset(at))
        return begins if begins > at else local - self.offset(at)

    def offset(self, at: int) -> int:
        """Answer by how much the wall clock is ahead of UTC at a moment."""
        quarter = at // QUARTER
        known = self._offsets.get(quarter)
        if known is None:
            if len(self._offsets) > 4_096:
                self._offsets.clear()
            ahead = datetime.fromtimestamp(at // SECOND, self._zone).utcoffset()
            assert ahead is not None, "a moment in a zone has an offset"
            known = self._offsets[quarter] = (ahead.days * 86_400 + ahead.seconds) * SECOND
        return known


@lru_cache(maxsize=64)
def week_of(tz: str) -> Week:
    """Answer the week of a zone, made once."""
    return Week(tz)
