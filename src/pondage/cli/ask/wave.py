"""`wave`: pull again and again, until calmed."""

from __future__ import annotations

from typing import Literal

import click

from pondage.cli.ask.readers import follow_options, following
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.event import ponds_argument, send
from pondage.operations import demand


@verb
@ponds_argument
@click.option(
    "--pacing",
    type=click.Choice(["eager", "just-in-time"]),
    default="eager",
    show_default=True,
    help="just-in-time: let the Inlets start only so early that the slowest Pond need not wait: fresher data.",
)
@click.option("--just-in-time", is_flag=True, help="The same as --pacing just-in-time.")
@follow_options
@settings_and_json
def wave(
    settings: Settings,
    ponds: tuple[str, ...],
    pacing: str,
    just_in_time: bool,
    while_read: bool,
    tz: str | None,
    sure: float | None,
    resting: bool,
    is_json: bool,
) -> None:
    """Pull again and again: a Tap now and after each completed Run, until `pondage calm`.

    Every Pond above settles on the rhythm of the slowest one. A Wave survives failures and restarts. A Pond has one:
    another one replaces it. With --while-read it asks for nothing while nobody reads, and wakes before a reader comes
    who comes every week.
    """
    is_paced = just_in_time or pacing == "just-in-time"
    chosen: Literal["eager", "just-in-time"] = "just-in-time" if is_paced else "eager"
    done = ("has a Wave, just in time" if is_paced else "has a Wave") + (" while it is read" if while_read else "")
    asked = following(while_read=while_read, tz=tz, sure=sure, resting=resting)
    send(settings, ponds, lambda to, key: to.ask(demand.wave, pond=key, pacing=chosen, **asked), done, is_json=is_json)
