"""Times, durations, sizes and names in plain words: one way of saying them, for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

_UNITS = ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"))


def duration_text(length_us: int) -> str:
    """Answer a duration as people say it: `850 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`."""
    if length_us < 0:
        return f"-{duration_text(-length_us)}"
    if length_us < 1_000_000:
        return f"{length_us // 1_000} ms"
    if length_us < 10_000_000:
        return f"{length_us / 1_000_000:.1f} s".replace(".0 s", " s")
    for position, (size, unit) in enumerate(_UNITS):
        if length_us >= size:
            whole, rest = divmod(length_us, size)
            if position + 1 < len(_UNITS):
                smaller, name = _UNITS[position + 1]
                if rest >= smaller:
                    return f"{whole} {unit} {rest // smaller} {name}"
            return f"{whole} {unit}"
    raise AssertionError(length_us)


def age_text(then: int, now: int) -> str:
    """Answer how far a moment is from now: `12 s ago`, `in 3 min`, `now`."""
    distance = now - then
    if abs(distance) < 1_000_000:
        return "now"
    # Tenths of a second only make a live table flicker.
    whole = abs(distance) // 1_000_000 * 1_000_000
    return f"{duration_text(whole)} ago" if distance > 0 else f"in {duration_text(whole)}"


def old_text(then: int, now: int) -> str:
    """Answer how long ago a moment was, in its largest unit alone: `3 min`, for tables with little room."""
    whole = max(0, now - then) // 1_000_000 * 1_000_000
    return " ".join(duration_text(whole).split(" ")[:2]) if whole else "0 s"


def moment_text(at: int, zone: tzinfo | None = None) -> str:
    """Answer a moment as ISO 8601 in a time zone, or in that of this machine."""
    moment = datetime.fromtimestamp(at // 1_000_000, tz=UTC).astimezone(zone)
    return moment.isoformat(sep=" ")


def clock_text(at: int, tz: str) -> str:
    """Answer what the clock of a zone shows at a moment: `08:30`."""
    return datetime.fromtimestamp(at // 1_000_000, tz=ZoneInfo(tz)).strftime("%H:%M")


def weekday_text(at: int, tz: str) -> str:
    """Answer which weekday it is in a zone at a moment: `Monday`."""
    names = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    return names[datetime.fromtimestamp(at // 1_000_000, tz=ZoneInfo(tz)).weekday()]


def size_text(size: int) -> str:
    """Answer a number of bytes: `512 B`, `1.4 MB`."""
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def count_text(count: int, thing: str) -> str:
    """Answer `1 row`, `2 rows`, `1,200 rows`, `2 queries`."""
    if count == 1:
        return f"1 {thing}"
    if thing.endswith("y") and thing[-2:-1] not in "aeiou":
        return f"{count:,} {thing[:-1]}ies"
    return f"{count:,} {thing}{'es' if thing.endswith(('s', 'ch')) else 's'}"


def list_text(words: Iterable[str], *, last: str = "and") -> str:
    """Answer `a`, `a and b`, `a, b and c`."""
    given = list(words)
    if len(given) < 2:
        return "".join(given)
    return f"{', '.join(given[:-1])} {last} {given[-1]}"


def crash_text(crashes: int, budget: int, *, is_isolated: bool) -> str:
    """Answer how work goes on that was near a crash: `tried alone after a crash, 2 of 4 used`.

    Alone when several pieces of work died with the same process: which of them took it down shows itself then, and
    none of those crashes is used.
    """
    return f"tried {'alone' if is_isolated else 'again'} after a crash, {crashes} of {budget} used"


def wait_text(available_at: int, now: int, *, epoch: int, reason: str) -> str:
    """Answer what happens at a moment: `is tried again in 4 s`, or `starts in 1 s` when nothing was tried before."""
    is_again = epoch > 0 or reason == "retry"
    return f"{'is tried again' if is_again else 'starts'} {age_text(available_at, now)}"
