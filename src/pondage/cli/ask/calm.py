"""`calm`: take a Wave or a Tide away."""

from __future__ import annotations

import click

from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.event import ponds_argument, send
from pondage.operations import demand
from pondage.views.ponds.status import PondView


@verb
@ponds_argument
@click.option("--name", help="Only the Tide of this name (`wave`: only the Wave).")
@settings_and_json
def calm(settings: Settings, ponds: tuple[str, ...], name: str | None, is_json: bool) -> None:
    """Take the Wave and the Tides away. What is asked for already still runs.

    Triggers that the code declares come back with the next deploy that changes them. A schedule is part of the code:
    take it out there, and deploy.
    """

    def done(old: PondView, _new: PondView) -> str:
        gone = [each for each in old.triggers if each.kind != "schedule" and name in (None, each.name)]
        if not gone:
            names = [each.name for each in old.triggers if each.kind != "schedule"]
            return f"has nothing of that name: it has {', '.join(names)}" if names else "had neither Wave nor Tide"
        return f"is calm ({', '.join(each.name for each in gone)} taken away)"

    send(settings, ponds, lambda to, key: to.ask(demand.calm, pond=key, name=name), done, is_json=is_json)
