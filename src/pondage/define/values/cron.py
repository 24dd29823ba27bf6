"""The check of a cron line: its form, and that a time comes at all. What the times are a library tells the timer."""

from __future__ import annotations

from pondage.errors import DefinitionError

_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_DAYS = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of month", 1, 31, {}),
    ("month", 1, 12, _MONTHS),
    ("day of week", 0, 7, _DAYS),
)


def checked_cron(text: object, *, place: str | None = None) -> str:
    """Answer a cron line of five fields with single blanks, or raise `DefinitionError` that names the wrong field.

    Each field is a list of `*`, a number, a name, a range `a-b`, each with an optional step `/n`.
    """
    fields = text.split() if isinstance(text, str) else []
    if len(fields) != 5:
        raise _refused(f"cron line {text!r} has {len(fields)} fields instead of 5", place)
    for field, (name, low, high, names) in zip(fields, _FIELDS, strict=True):
        for item in field.split(","):
            if not _is_valid(item, low, high, names):
                raise _refused(f"cron line {text!r}: {item!r} is no {name} ({low} to {high})", place)
    days, months = (_values(fields[number], *_FIELDS[number][1:]) for number in (2, 3))
    # With a day of the week beside it, either of them will do.
    if fields[4] == "*" and min(days) > max(_LENGTHS[each - 1] for each in months):
        raise _refused(f"cron line {text!r}: none of these months has such a day", place)
    return " ".join(fields)


def _values(field: str, low: int, high: int, names: dict[str, int]) -> set[int]:
    """Answer the numbers that a valid field means."""
    found: set[int] = set()
    for item in field.split(","):
        span, has_step, step = item.partition("/")
        first, has_end, last = span.partition("-")
        start = low if span == "*" else _number(first, names) or 0
        end = _number(last, names) or 0 if has_end else high if has_step or span == "*" else start
        found.update(range(start, end + 1, int(step or 1)))
    return found


def _is_valid(item: str, low: int, high: int, names: dict[str, int]) -> bool:
    span, has_step, step = item.partition("/")
    if has_step and not 1 <= (_number(step, {}) or 0) <= high:
        return False
    if span == "*":
        return True
    first, has_end, last = span.partition("-")
    start = _number(first, names)
    end = _number(last, names) if has_end else start
    return start is not None and end is not None and low <= start <= end <= high


def _number(text: str, names: dict[str, int]) -> int | None:
    if text.isascii() and text.isdigit() and len(text) <= 4:
        return int(text)
    return names.get(text.lower())


def _refused(message: str, place: str | None) -> DefinitionError:
    return DefinitionError(
        message, hint='write minute, hour, day, month, weekday: "0 6 * * mon-fri"', place=place, code="BAD_SCHEDULE"
    )
