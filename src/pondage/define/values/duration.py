"""Durations as an author writes them: `90s`, `15m`, `1h`, `1d`, `1h30m`, `250ms`."""

from __future__ import annotations

import re

from pondage.errors import DefinitionError

_UNITS_US = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
_WHOLE = re.compile(r"\s*(?:[0-9]{1,9}\s*(?:ms|[smhd])\s*)+\Z")
_PART = re.compile(r"([0-9]{1,9})\s*(ms|[smhd])")
LONGEST_US = 36_500 * _UNITS_US["d"]
"""A hundred years: whatever is reckoned with it stays a number of the ledger."""


def parsed_duration(text: object, *, what: str = "duration", place: str | None = None) -> int:
    """Answer a duration in microseconds; raises `DefinitionError` when it is malformed, zero or above 100 years."""
    if not isinstance(text, str) or not _WHOLE.match(text):
        raise DefinitionError(
            f"{what} {text!r} is not a duration",
            hint='write a number and a unit: "90s", "15m", "1h", "1d" (ms, s, m, h, d)',
            place=place,
            code="BAD_DURATION",
        )
    length = sum(int(number) * _UNITS_US[unit] for number, unit in _PART.findall(text))
    if not 0 < length <= LONGEST_US:
        size = "zero" if length == 0 else "too long"
        hint = "give a duration above zero, and at most 36500d"
        raise DefinitionError(f"{what} {text[:63]!r} is {size}", hint=hint, place=place, code="BAD_DURATION")
    return length


def parsed_seconds(text: str | None, what: str, place: str) -> float | None:
    """Answer a duration that may be left out, in seconds; None when it is."""
    return None if text is None else parsed_duration(text, what=what, place=place) / 1e6
