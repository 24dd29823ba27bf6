"""`sleep`: forget demand and triggers."""

from __future__ import annotations

import click

from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.event import ponds_argument, send
from pondage.operations import demand


@verb
@ponds_argument
@click.option("--upstream", is_flag=True, help="Everything above it too.")
@settings_and_json
def sleep(settings: Settings, ponds: tuple[str, ...], upstream: bool, is_json: bool) -> None:
    """Forget demand and standing triggers. Runs that have started complete.

    A Sink that wants something asks again with its next demand. With --upstream the Ponds above sleep too.
    """
    done = "sleeps, and so does everything above it" if upstream else "sleeps"
    send(settings, ponds, lambda to, key: to.ask(demand.sleep, pond=key, upstream=upstream), done, is_json=is_json)
