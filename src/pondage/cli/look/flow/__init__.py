"""`pondage flow`: trees that users build as data, checked without a ledger and run on one."""

from __future__ import annotations

import click

from pondage.cli.look.flow.check import check
from pondage.cli.look.flow.extract import extract
from pondage.cli.look.flow.run import cleanup, kill, list_runs, resume, show, stop, store, submit, watch


@click.group()
def flow() -> None:
    """Flows: trees of programs and constants, written as JSON, typed before they run."""


for _verb in (check, submit, list_runs, show, watch, stop, kill, resume, cleanup, extract, store):
    flow.add_command(_verb)
