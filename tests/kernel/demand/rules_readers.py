"""Triggers that follow their readers, as the text says it: every read is kept, and every share counted from the first.

Nothing is cached and nothing applied lazily. What the clock shows is asked of `datetime` anew for each moment.
"""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

SECOND = 1_000_000
QUARTER = 900 * SECOND
HALF_AN_HOUR = 1_800 * SECOND
WEEK = timedelta(days=7)
MONDAY = date(1969, 12, 29)
ONE = 65_536


def clock(at: int, tz: str) -> tuple[date, int]:
    """Give the local day, and its quarter hour."""
    local = datetime.fromtimestamp(at / SECOND, UTC).astimezone(ZoneInfo(tz))
    return local.date(), local.hour * 4 + local.minute // 15


@dataclass
class Follower:
    tz: str
    sure: int
    born: int
    new_until: int | None
    reads: set[tuple[date, int]] = field(default_factory=set)
    last_read: int | None = None
    read_days: set[date] = field(default_factory=set)
    open_day: date = MONDAY
    missed_days: int = 0
    is_resting: bool = False
    look_at: int | None = None

    def __post_init__(self) -> None:
        self.open_day = clock(self.born, self.tz)[0]

    def counted(self, day: date, quarter: int, before: tuple[date, int]) -> tuple[int, int]:
        """Count the weeks of one quarter hour of a weekday, from the first one to the last before that."""
        seen = weight = 0
        first = clock(self.born, self.tz)
        for number in range(-((day - first[0]).days // 7) - 1, 1):
            on = day + number * WEEK
            is_read = (on, quarter) in self.reads
            # The quarter hour itself counts from the moment on at which somebody has read in it.
            if first <= (on, quarter) and ((on, quarter) < before or is_read):
                seen, weight = seen * 46_341 >> 16, (weight * 46_341 >> 16) + ONE
                seen += ONE * is_read
        return seen, weight

    def share(self, day: date, quarter: int) -> int:
        kind = range(5) if day.weekday() < 5 else range(5, 7)
        monday = day - timedelta(days=day.weekday())
        rows = [self.counted(monday + timedelta(days=each), quarter, (day, quarter)) for each in kind]
        shares = [seen * ONE // weight for seen, weight in rows if weight]
        seen, weight = self.counted(day, quarter, (day, quarter))
        mean = sum(shares) // len(shares) if shares else 0
        return (seen + mean // 2) * ONE // (weight + ONE // 2)

    def is_awake(self, at: int, now: int, hold: int, lead: int) -> bool:
        """Is it awake then, by what is known now?"""
        if self.new_until is not None and at < self.new_until:
            return True
        if self.missed_days >= 2:
            return False
        last = self.last_read
        if last is not None and last <= now + hold and at - min(last, now) <= hold:
            return True
        begin = (at - QUARTER) // QUARTER * QUARTER + QUARTER
        begins = range(begin, at + lead + 1, QUARTER)
        return any(self.share(*clock(each, self.tz)) >= self.sure for each in begins)

    def look(self, now: int, hold: int, lead: int) -> None:
        if self.new_until is None or now >= self.new_until:
            self.close(clock(now, self.tz)[0])
        awake = self.is_awake(now, now, hold, lead)
        self.is_resting = not awake
        midnight = next(
            each
            for each in range((now // QUARTER + 1) * QUARTER, now + 200 * QUARTER, QUARTER)
            if clock(each, self.tz)[0] != clock(now, self.tz)[0]
        )
        changes = self.changes(now, hold, lead)
        self.look_at = next((at for at in changes if self.is_awake(at, now, hold, lead) != awake), None)
        if self.look_at is not None:
            self.look_at = min(self.look_at, midnight)
        elif awake:
            self.look_at = midnight

    def changes(self, now: int, hold: int, lead: int) -> list[int]:
        found = [] if self.new_until is None else [self.new_until]
        found += [] if self.last_read is None else [min(self.last_read, now) + hold + 1]
        first = now // QUARTER * QUARTER - QUARTER
        for begin in range(first, now + 768 * QUARTER, QUARTER):
            found += [begin - lead, begin + QUARTER]
        return sorted({each for each in found if each > now})

    def close(self, today: date) -> None:
        day = self.open_day
        if today <= day:
            self.open_day = day if (day - today).days <= 1 else today
            return
        self.open_day = today
        if not any(each >= day for each in self.read_days):
            self.missed_days += any(self.share(day, quarter) >= self.sure for quarter in range(96))

    def read(self, at: int) -> None:
        place = clock(at, self.tz)
        self.reads.add(place)
        self.read_days.add(place[0])
        self.last_read = at if self.last_read is None else max(at, self.last_read)
        self.missed_days = 0


def hold_of(limit: int) -> int:
    return max(2 * limit, HALF_AN_HOUR)
