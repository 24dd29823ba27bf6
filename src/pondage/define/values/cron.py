"""The check of a cron line. Only the form is checked here; what the times are is asked of a library by the timer."""

from __future__ import annotations

from pondage.errors import DefinitionError

_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_DAYS = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
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
    return " ".join(fields)


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
