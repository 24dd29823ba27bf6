"""`kill`: stop Ponds, or runs of jobs and flows, at once."""

from __future__ import annotations

import re

import click

from pondage.cli.client.desk import desk
from pondage.cli.client.settings import Settings, pass_settings, verb
from pondage.cli.follow.event import note_option, send
from pondage.cli.follow.job_run import kill_run
from pondage.operations import demand

_RUN = re.compile("[jf][0-9a-f]{16}")
"""The id of a run of a job, or of a flow."""


@verb
@click.argument("names", nargs=-1, required=True, metavar="POND|RUN...")
@note_option
@pass_settings
def kill(settings: Settings, names: tuple[str, ...], note: str) -> None:
    """Stop at once: cancel what runs, forget demand and triggers, block the Sinks until `pondage clear`.

    Published data stays as it is. A RUN is one of a job or a flow (j1a2b…, f1a2b…): nothing more of it starts, and
    what runs is asked to stop and has 30 s to end; the second time it ends at once.
    """
    runs = [name for name in names if _RUN.fullmatch(name)]
    ponds = tuple(name for name in names if name not in runs)
    if runs:
        with desk(settings) as opened:
            for run in runs:
                kill_run(opened, run)
    if ponds:
        send(settings, ponds, lambda to, key: to.ask(demand.kill, pond=key, note=note), "was killed")
