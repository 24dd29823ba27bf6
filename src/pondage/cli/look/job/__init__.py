"""`pondage job`: a job file is checked, drawn and played without a ledger, and run on one."""

from __future__ import annotations

import click

from pondage.cli.look.job.graph import graph
from pondage.cli.look.job.run import resume, run
from pondage.cli.look.job.show import kill, list_jobs, show
from pondage.cli.look.job.trace import trace
from pondage.cli.look.job.validate import validate


@click.group()
def job() -> None:
    """Check, draw, play and run jobs (control flow inside a run)."""


for _verb in (validate, graph, trace, run, resume, list_jobs, show, kill):
    job.add_command(_verb)
