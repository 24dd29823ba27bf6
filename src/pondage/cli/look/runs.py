"""`runs`: the newest Runs."""

from __future__ import annotations

import click

from pondage.cli.client.desk import asked
from pondage.cli.client.settings import Settings, settings_and_json, typed, verb
from pondage.cli.printing.output import print_json, print_table
from pondage.cli.printing.ponds import RUNS_COLUMNS, run_row
from pondage.operations.runs import runs as newest


@verb
@click.argument("pond", required=False, metavar="[POND]")
@click.option("--state", help="Only Runs in this state: running, completed, failed, subsumed, killed.")
@click.option("--limit", "-n", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many.")
@settings_and_json
def runs(settings: Settings, pond: str | None, state: str | None, limit: int, is_json: bool) -> None:
    """List the newest Runs, of one Pond or of all.

    `pondage show RUN` prints one in full; a Run can also be called by its Pond and number: sales#12.
    """
    view = asked(settings, newest, pond=pond, state=state, limit=limit)
    if is_json:
        print_json(view)
        return
    if not view.runs:
        click.echo(typed(f"no Runs; try: pondage run {pond or 'POND'}"))
        return
    print_table(settings, RUNS_COLUMNS, [run_row(run, view.at) for run in view.runs], numbers=("TOOK",))
    if view.has_more:
        again = ["pondage runs", *([pond] if pond else []), *([f"--state {state}"] if state else [])]
        click.echo(typed(f"older ones are left out; try: {' '.join(again)} -n {min(1000, limit * 5)}"))
