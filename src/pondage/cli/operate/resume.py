"""`resume`: let a paused trigger ask again."""

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
def resume(settings: Settings, pond: str, trigger: str | None, is_json: bool) -> None:
    """Let a Wave, a Tide or a Schedule ask again: that of this name, else all, whatever paused them.

    Times of a Schedule that passed meanwhile are not caught up with.
    """

    def done(old: PondView, _new: PondView) -> str:
        names = [each.name for each in old.triggers if trigger in (None, each.name) and each.paused_by is not None]
        return f"asks again by {list_text(names)}" if names else "had nothing paused"

    send(settings, (pond,), lambda to, key: to.ask(demand.resume, pond=key, name=trigger), done, is_json=is_json)
