"""`sleep`: forget demand and triggers."""

from __future__ import annotations

import click

from pondage.cli.client.settings import Settings, pass_settings, verb
from pondage.cli.follow.event import ponds_argument, send
from pondage.operations import demand


@verb
@ponds_argument
@click.option("--upstream", is_flag=True, help="Everything above it too.")
@pass_settings
def sleep(settings: Settings, ponds: tuple[str, ...], upstream: bool) -> None:
    """Forget demand and standing triggers. Runs that have started complete.

    A Sink that wants something asks again with its next demand. With --upstream the Ponds above sleep too.
    """
    done = "sleeps, and so does everything above it" if upstream else "sleeps"
    send(settings, ponds, lambda to, key: to.ask(demand.sleep, pond=key, upstream=upstream), done)
