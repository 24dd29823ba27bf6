"""`tap`: pull once."""

from __future__ import annotations

from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.event import if_taken, ponds_argument, send
from pondage.operations import demand


@verb
@ponds_argument
@settings_and_json
def tap(settings: Settings, ponds: tuple[str, ...], is_json: bool) -> None:
    """Pull once: take what the Sources have now, and let them prepare more.

    A Pond that runs already runs once more after it. Nothing is sent upwards that was asked for before.
    """
    send(
        settings,
        ponds,
        lambda to, key: to.ask(demand.tap, pond=key),
        lambda old, _: if_taken(old, "was tapped"),
        is_json=is_json,
    )
