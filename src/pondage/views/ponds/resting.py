"""Why a trigger that follows its readers rests, in words."""

from __future__ import annotations

import msgspec

from pondage.views.words import clock_text, weekday_text

_DAY_US = 86_400_000_000
_WEEKS = {1: "week", 2: "two weeks", 3: "three weeks", 4: "four weeks", 5: "five weeks"}
"""An explanation never looks back further."""


class RestingFields(msgspec.Struct, frozen=True, kw_only=True):
    """What the machine says of a trigger at rest; the kernel's gate `Resting` says what each of them means."""

    trigger: str
    wakes: int | None
    expected: int | None
    seen: int
    of: int
    quiet: tuple[int, int] | None
    is_workday: bool
    weeks: int
    missed: bool
    tz: str


def resting_text(rest: RestingFields, now: int) -> str:
    """Answer since when nobody reads, and when it wakes for whom."""
    said = f"Its {rest.trigger} is resting: {_nobody(rest)}"
    if rest.wakes is None or rest.expected is None:
        return f"{said}; it wakes as soon as somebody reads."
    day = f"on {weekday_text(rest.wakes, rest.tz)} " if rest.wakes - now >= _DAY_US else ""
    seen = f" (seen on {rest.seen} of the last {rest.of})" if rest.of else ""
    wakes, expected = clock_text(rest.wakes, rest.tz), clock_text(rest.expected, rest.tz)
    return f"{said}; it wakes {day}at {wakes} for a reader expected at {expected}{seen}."


def _nobody(rest: RestingFields) -> str:
    if rest.missed:
        return "readers were expected on two days, and nobody came"
    days = f"on {'workdays' if rest.is_workday else 'weekends'} of the last {_WEEKS.get(rest.weeks, 'weeks')}"
    if rest.quiet is None:
        return f"nobody has read it {days}"
    since, until = (f"{minutes // 60:02}:{minutes % 60:02}" for minutes in rest.quiet)
    return f"nobody has read it between {since} and {until} {days}"
