"""`clear`: acknowledge a failure or a kill."""

from __future__ import annotations

from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.event import ponds_argument, send
from pondage.operations import demand
from pondage.views.ponds.status import PondView


@verb
@ponds_argument
@settings_and_json
def clear(settings: Settings, ponds: tuple[str, ...], is_json: bool) -> None:
    """Acknowledge a failure, a kill or a halt: demand that was kept runs again, and the Sinks are unblocked."""

    def done(old: PondView, _new: PondView) -> str:
        if old.halted is not None or old.state in ("failed", "killed"):
            return "was cleared"
        above = ": the Pond that blocks it is above" if old.state == "blocked" else ""
        return f"had nothing to clear{above}"

    send(settings, ponds, lambda to, key: to.ask(demand.clear, pond=key), done, is_json=is_json)
