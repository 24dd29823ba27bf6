"""The options of standing triggers that follow their readers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict, TypeVar

import click

from pondage.errors import PondageError

Command = TypeVar("Command", bound=Callable[..., object])
_OPTIONS = (
    click.option("--while-read", is_flag=True, help="Ask only while somebody reads the Pond, or is expected to."),
    click.option("--tz", metavar="ZONE", help="With --while-read: on the clock of this zone (else: UTC)."),
    click.option(
        "--sure",
        type=float,
        metavar="SHARE",
        help="… expect whoever came in this share of the weeks (else: 0.3).",
    ),
    click.option("--resting", is_flag=True, help="… it need not be awake for its first week."),
)


class Following(TypedDict, total=False):
    """What an operation is asked about readers."""

    while_read: bool
    tz: str
    sure: float
    resting: bool


def follow_options(command: Command) -> Command:
    """Give a verb the options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def following(*, while_read: bool, tz: str | None, sure: float | None, resting: bool) -> Following:
    """Answer what the options ask; raises `PondageError` for those that need --while-read."""
    if not while_read:
        if tz is not None or sure is not None or resting:
            raise PondageError(
                "--tz, --sure and --resting are about readers", hint="add --while-read", code="BAD_OPTION"
            )
        return {}
    asked: Following = {"while_read": True, "resting": resting}
    if tz is not None:
        asked["tz"] = tz
    if sure is not None:
        asked["sure"] = sure
    return asked
