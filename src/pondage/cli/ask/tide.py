"""`tide`: never be staler than a limit, until calmed."""

from __future__ import annotations

import click

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
@settings_and_json
def tide(settings: Settings, pond: str, limit: str, name: str, is_json: bool) -> None:
    """Keep the Pond no staler than LIMIT (90s, 15m, 1h, 1d), until `pondage calm`.

    It runs no more often than that needs. Of several Tides the smallest limit rules; one of the same name is replaced.
    """
    length = parsed_duration(limit, what="limit")
    checked = checked_name(name, what="Tide")
    done = f"has Tide {checked!r} of {duration_text(length)}"
    send(
        settings,
        (pond,),
        lambda to, key: to.ask(demand.tide, pond=key, limit=limit, name=checked),
        done,
        is_json=is_json,
    )
