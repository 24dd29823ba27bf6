"""`force`: clear, and run once even if nothing is new."""

from __future__ import annotations

import click

from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.event import note_option, ponds_argument, send
from pondage.operations import demand
from pondage.views.ponds.status import PondView


@verb
@ponds_argument
@click.option("--full", is_flag=True, help="Compute everything anew, not only what changed; the table is replaced.")
@note_option
@settings_and_json
def force(settings: Settings, ponds: tuple[str, ...], full: bool, note: str, is_json: bool) -> None:
    """Clear, and run once even if nothing is new: every Ripple computes again.

    Waits for a Run that is active. Sinks see what it gives with their next Run; its freshness grows only when the
    Sources are ahead. With --full a Pond that appends or merges begins its table anew: `run.is_full` is true.
    """

    def done(old: PondView, new: PondView) -> str:
        if new.runs > old.runs:
            return "is forced"
        if old.active:
            return "is forced, as soon as the Run that is active has ended"
        return "cannot be forced: its Sources have never published (pondage run brings them)"

    send(settings, ponds, lambda to, key: to.ask(demand.force, pond=key, full=full, note=note), done, is_json=is_json)
