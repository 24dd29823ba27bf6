"""`wake`: clear, and run once if the Sources are ahead."""

from __future__ import annotations

from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.event import ponds_argument, send
from pondage.operations import demand
from pondage.views.ponds.status import PondView


@verb
@ponds_argument
@settings_and_json
def wake(settings: Settings, ponds: tuple[str, ...], is_json: bool) -> None:
    """Clear, and run once if the Sources are ahead right now. Asks nothing of them, and is not kept for later."""

    def done(old: PondView, new: PondView) -> str:
        return "was woken" if new.runs > old.runs else "was woken, but its Sources have nothing newer: it does not run"

    send(settings, ponds, lambda to, key: to.ask(demand.wake, pond=key), done, is_json=is_json)
