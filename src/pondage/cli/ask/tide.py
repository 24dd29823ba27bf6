"""`tide`: never be staler than a limit, until calmed."""

from __future__ import annotations

import click

from pondage.cli.ask.readers import follow_options, following
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.event import send
from pondage.define.values.duration import parsed_duration
from pondage.define.values.names import checked_name
from pondage.operations import demand
from pondage.views.words import duration_text


@verb
@click.argument("pond", metavar="POND")
@click.argument("limit", metavar="LIMIT")
@click.option("--name", default="tide", show_default=True, help="Its name: a Pond may have several Tides.")
@follow_options
@settings_and_json
def tide(
    settings: Settings,
    pond: str,
    limit: str,
    name: str,
    while_read: bool,
    tz: str | None,
    sure: float | None,
    resting: bool,
    is_json: bool,
) -> None:
    """Keep the Pond no staler than LIMIT (90s, 15m, 1h, 1d), until `pondage calm`.

    With --while-read it asks for nothing while nobody reads, and wakes before a reader comes who comes every week.
    It runs no more often than that needs. Of several Tides the smallest limit rules; one of the same name is replaced.
    """
    length = parsed_duration(limit, what="limit")
    checked = checked_name(name, what="Tide")
    done = f"has Tide {checked!r} of {duration_text(length)}" + (" while it is read" if while_read else "")
    asked = following(while_read=while_read, tz=tz, sure=sure, resting=resting)
    send(
        settings,
        (pond,),
        lambda to, key: to.ask(demand.tide, pond=key, limit=limit, name=checked, **asked),
        done,
        is_json=is_json,
    )
