"""`pulse`: push once."""

from __future__ import annotations

import click

from pondage.cli.ask.moment import required_moment
from pondage.cli.client.desk import desk
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.event import if_taken, ponds_argument, send
from pondage.operations import demand, installation
from pondage.views.ponds.status import PondView


@verb
@ponds_argument
@click.option("--at", metavar="WHEN", help="Be as fresh as a moment of the past: 15m (ago), 2026-05-04T06:00.")
@settings_and_json
def pulse(settings: Settings, ponds: tuple[str, ...], at: str | None, is_json: bool) -> None:
    """Push once: bring the Pond to the freshness of this moment.

    Everything above it that is older runs first, and each Pond runs once. With --at what is fresh enough already does
    not run again. See also: pondage run, which waits and prints the rows.
    """
    target = None if at is None else _moment(settings, at)

    def done(old: PondView, _new: PondView) -> str:
        if target is not None and old.freshness is not None and old.freshness >= target:
            return "is as fresh as that already"
        return if_taken(old, "was pulsed")

    send(settings, ponds, lambda to, key: to.ask(demand.pulse, pond=key, at=target), done, is_json=is_json)


def _moment(settings: Settings, text: str) -> int:
    with desk(settings) as opened:
        return required_moment(text, opened.ask(installation.about).at, option="--at")
