"""Windows (when an Inlet may be read, and how long what it read stays fresh) and Schedules (when to send a Pulse).

A Window is a half-open interval of local time that recurs on weekdays. Without an end it lasts until the calendar's
next start, whichever Window that belongs to: `daily("02:00")` is always open, its data is fresh until the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal
from zoneinfo import ZoneInfo

from pondage.define.pond.definition import ScheduleDefinition, WindowDefinition
from pondage.define.values.cron import checked_cron
from pondage.define.values.names import checked_name
from pondage.define.values.place import place_of_caller
from pondage.errors import DefinitionError

_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)\Z", re.ASCII)
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

Weekdays = str | Iterable[int | str]
"""`"mon-fri"`, `"mon,wed"`, `["sat", "sun"]` or numbers from 0 = Monday."""


class Window:
    """One recurring interval: `Window("08:00", "18:00", weekdays="mon-fri", tz="Europe/Berlin")`.

    An `end` that is not after `start` is on the next day, so `Window("22:00", "02:00")` lasts four hours and
    `Window("00:00", "00:00")` a day. `weekdays` are those of the start. Raises `DefinitionError`.
    """

    def __init__(self, start: str, end: str | None = None, weekdays: Weekdays = "mon-sun", tz: str = "UTC") -> None:
        self.place = place_of_caller()
        self.definition = WindowDefinition(
            start=_checked_time(start, self.place),
            end=None if end is None else _checked_time("00:00" if end == "24:00" else end, self.place),
            weekdays=_parsed_weekdays(weekdays, self.place),
            tz=checked_zone(tz, place=self.place),
        )

    def __repr__(self) -> str:
        return window_text(self.definition)


def daily(at: str, *, tz: str = "UTC") -> Window:
    """Answer the Window that opens every day at a local time and lasts until the next one."""
    return Window(at, tz=tz)


def weekly(day: str, at: str, *, tz: str = "UTC") -> Window:
    """Answer the Window that opens once a week, for example `weekly("mon", "06:00")`, and lasts until the next one."""
    return Window(at, weekdays=[day], tz=tz)


def hourly(minute: int = 0, *, tz: str = "UTC") -> tuple[Window, ...]:
    """Answer the 24 Windows that open every hour at a minute, each lasting until the next."""
    if minute not in range(60):
        raise _refused(f"hourly() takes a minute from 0 to 59, not {minute!r}", place_of_caller())
    return tuple(Window(f"{hour:02}:{minute:02}", tz=tz) for hour in range(24))


class Schedule:
    """A standing trigger: a Pulse at each time of a five-field cron line in a time zone.

    `catch_up` says what happens with times that were missed while nothing ran: `"none"`, the `"latest"` one (default)
    or `"all"`. Raises `DefinitionError`.
    """

    def __init__(
        self,
        cron: str,
        tz: str = "UTC",
        catch_up: Literal["none", "latest", "all"] = "latest",
        name: str = "schedule",
    ) -> None:
        self.place = place_of_caller()
        if catch_up not in ("none", "latest", "all"):
            raise DefinitionError(
                f"catch_up is {catch_up!r}",
                hint='choose "none", "latest" or "all"',
                place=self.place,
                code="BAD_SCHEDULE",
            )
        self.definition = ScheduleDefinition(
            cron=checked_cron(cron, place=self.place),
            tz=checked_zone(tz, place=self.place),
            catch_up=catch_up,
            name=checked_name(name, what="schedule", place=self.place),
        )

    def __repr__(self) -> str:
        return f"Schedule({self.definition.cron!r}, tz={self.definition.tz!r})"


def checked_zone(name: str, *, place: str | None = None) -> str:
    """Answer the name of an IANA zone, or raise `DefinitionError`."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, TypeError, OSError):
        raise DefinitionError(
            f"time zone {name!r} is unknown",
            hint='use a name such as "Europe/Berlin" or "UTC"',
            place=place,
            code="BAD_ZONE",
        ) from None
    return name


def check_window(window: WindowDefinition, place: str) -> None:
    """Raise `DefinitionError` for a Window that was not made by `Window`."""
    for time in (window.start, window.end or window.start):
        _checked_time(time, place)
    _parsed_weekdays(window.weekdays, place)
    checked_zone(window.tz, place=place)


def check_schedule(schedule: ScheduleDefinition, place: str) -> None:
    """Raise `DefinitionError` for a Schedule that was not made by `Schedule`."""
    checked_cron(schedule.cron, place=place)
    checked_zone(schedule.tz, place=place)
    checked_name(schedule.name, what="schedule", place=place)


def window_text(window: WindowDefinition) -> str:
    """Answer a Window as a person reads it: `mon-fri 08:00-18:00 Europe/Berlin`."""
    until = "until the next start" if window.end is None else f"to {window.end}"
    return f"{weekdays_text(window.weekdays)} {window.start} {until} ({window.tz})"


def weekdays_text(weekdays: tuple[int, ...]) -> str:
    """Answer weekdays in short form: `daily`, `mon-fri`, `mon,wed`."""
    if len(weekdays) == 7:
        return "daily"
    if len(weekdays) > 2 and weekdays == tuple(range(weekdays[0], weekdays[-1] + 1)):
        return f"{_DAYS[weekdays[0]]}-{_DAYS[weekdays[-1]]}"
    return ",".join(_DAYS[day] for day in weekdays)


def _checked_time(text: object, place: str) -> str:
    if not isinstance(text, str) or not _TIME.match(text):
        raise _refused(f"{text!r} is not a local time", place)
    return text


def _parsed_weekdays(weekdays: Weekdays, place: str) -> tuple[int, ...]:
    given = [part.strip() for part in weekdays.split(",")] if isinstance(weekdays, str) else list(weekdays)
    days: set[int] = set()
    for each in given:
        if isinstance(each, str) and "-" in each:
            first, _, last = each.partition("-")
            start, end = _day(first, place), _day(last, place)
            days.update((start + step) % 7 for step in range((end - start) % 7 + 1))
        else:
            days.add(_day(each, place))
    if not days:
        raise _refused("a Window needs at least one weekday", place)
    return tuple(sorted(days))


def _day(text: int | str, place: str) -> int:
    if isinstance(text, int) and not isinstance(text, bool) and 0 <= text <= 6:
        return text
    short = text.strip().lower()[:3] if isinstance(text, str) else ""
    if short not in _DAYS:
        raise _refused(f"{text!r} is not a weekday", place)
    return _DAYS.index(short)


def _refused(message: str, place: str) -> DefinitionError:
    return DefinitionError(
        message,
        hint='write for example Window("08:00", "18:00", weekdays="mon-fri", tz="Europe/Berlin")',
        place=place,
        code="BAD_WINDOW",
    )
