"""Moments as people type them: `2h` ago, `2026-05-04T06:00`, `2026-05-04 06:00+02:00`."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pondage.define.values.duration import parsed_duration
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pondage.cli.client.desk import Desk

_AGO = re.compile(r"(?P<long>(?:\d+\s*(?:ms|[smhd])\s*)+)(?:ago)?\Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parsed_moment(text: str, now: int) -> int | None:
    """Answer a moment in microseconds; None for a text that is neither a duration nor a time.

    A duration is so long ago. A time without a zone is one of this machine's zone, as `status` and `runs` print them.
    Raises `PondageError` for a time in the future.
    """
    given = text.strip()
    if ago := _AGO.match(given):
        return now - parsed_duration(ago["long"].strip())
    try:
        moment = datetime.fromisoformat(given).astimezone(UTC)
    except ValueError:
        return None
    at = (moment - _EPOCH) // (datetime.resolution)
    if at > now:
        raise PondageError(
            f"{text} has not come yet", hint="give a moment of the past, or a duration: 2h", code="IN_THE_FUTURE"
        )
    return at


def required_moment(text: str, now: int, *, option: str) -> int:
    """Answer a moment; raises `PondageError` for what is none."""
    at = parsed_moment(text, now)
    if at is None:
        raise PondageError(
            f"{option} {text!r} is no moment",
            hint="write a duration (90s, 15m, 2h) or a time (2026-05-04T06:00)",
            code="BAD_MOMENT",
        )
    return at


def as_of(opened: Desk, then: str) -> int | str:
    """Answer a moment, or else what must be a Run: whoever answers knows."""
    from pondage.operations import installation

    at = parsed_moment(then, opened.ask(installation.about).at)
    return then if at is None else at
