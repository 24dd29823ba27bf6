"""`pause`: let a standing trigger ask for nothing."""

from __future__ import annotations

import click

from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.event import send
from pondage.operations import demand
from pondage.views.ponds.status import PondView
from pondage.views.words import list_text


@verb
@click.argument("pond")
@click.argument("trigger", required=False)
@settings_and_json
def pause(settings: Settings, pond: str, trigger: str | None, is_json: bool) -> None:
    """Let a Wave, a Tide or a Schedule ask for nothing until `pondage resume`: that of this name, else all.

    What is asked for already still runs. A deploy that does not touch the trigger leaves it paused. `pondage status`
    shows the names: `wave`, those of the Tides and of the Schedules.
    """

    def done(_old: PondView, new: PondView) -> str:
        names = [each.name for each in new.triggers if trigger in (None, each.name)]
        return f"asks no more by {list_text(names)}"

    send(settings, (pond,), lambda to, key: to.ask(demand.pause, pond=key, name=trigger), done, is_json=is_json)
