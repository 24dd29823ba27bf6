"""`kill`: stop Ponds, or runs of jobs and flows, at once."""

from __future__ import annotations

import re

import click

from pondage.cli.client.desk import desk
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.event import note_option, send
from pondage.cli.follow.job_run import killed_text
from pondage.cli.printing.output import print_view
from pondage.operations import demand, jobs

_RUN = re.compile("[jf][0-9a-f]{16}")
"""The id of a run of a job, or of a flow."""


@verb
@click.argument("names", nargs=-1, required=True, metavar="POND|RUN...")
@note_option
@settings_and_json
def kill(settings: Settings, names: tuple[str, ...], note: str, is_json: bool) -> None:
    """Stop at once: cancel what runs, forget demand and triggers, block the Sinks until `pondage clear`.

    Published data stays as it is. A RUN is one of a job or a flow (j1a2b…, f1a2b…): nothing more of it starts, and
    what runs is asked to stop and has 30 s to end; the second time it ends at once.
    """
    runs = [name for name in names if _RUN.fullmatch(name)]
    ponds = tuple(name for name in names if name not in runs)
    if ponds and runs and is_json:
        raise click.UsageError("with --json name Ponds or runs: their answers are different objects")
    if runs:
        with desk(settings) as opened:
            ended = [opened.ask(jobs.job_kill, run=run) for run in runs]
        print_view(ended, "\n".join(killed_text(view) for view in ended), is_json=is_json)
    if ponds:
        send(settings, ponds, lambda to, key: to.ask(demand.kill, pond=key, note=note), "was killed", is_json=is_json)
