"""Verbs that look: `status`, `why`, `runs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pondage.cli.client.desk import desk
from pondage.cli.client.settings import Settings, json_option, pass_settings, verb

if TYPE_CHECKING:
    from pondage.views.ponds.status import StatusView
    from pondage.views.ponds.why import WhyView

MOST_PONDS = 500
"""So many are shown when nobody says which: more than anybody reads, and quickly read however many there are."""


@verb
@click.argument("ponds", nargs=-1, metavar="[POND]...")
@click.option("--once", is_flag=True, help="Print it once (as always when the output is not a terminal).")
@click.option("--all", "is_all", is_flag=True, help=f"Every Pond, also when there are more than {MOST_PONDS}.")
@json_option
@pass_settings
def status(settings: Settings, ponds: tuple[str, ...], once: bool, is_all: bool, is_json: bool) -> None:
    """Show every Pond (or some): how fresh, who asks for it, what it does. Live until Ctrl-C.

    STATE is idle (nobody asks), queued (asked for, waiting), running, failed, blocked (by a Source) or killed.
    """
    from pondage.cli.asks import looking
    from pondage.cli.follow.screen import Quietly, follow, screen
    from pondage.cli.printing.output import is_terminal, print_json

    named = ",".join(ponds) or None
    most = None if is_all or is_json or named is not None else MOST_PONDS
    with desk(settings) as opened:
        view = opened.ask(looking.status, ponds=named, most=most)
        if is_terminal() and not once and not is_json:
            chosen = None if named is None else frozenset(pond.key for pond in view.ponds)
            with Quietly(), screen(settings, chosen) as shown:
                follow(opened, shown, lambda _: False, ponds=named, most=most)
            return
        if is_json:
            print_json(view)
        else:
            _print_status(settings, view)


def _print_status(settings: Settings, view: StatusView) -> None:
    from pondage.cli.printing.output import print_table
    from pondage.cli.printing.ponds import REACTOR_COLUMNS, STATUS_COLUMNS, process_text, reactor_rows, status_rows

    if not view.ponds and not view.reactors:
        click.echo(f"nothing is deployed in environment {view.environment}; try: pondage deploy")
        return
    if view.ponds:
        print_table(settings, STATUS_COLUMNS, status_rows(view, view.at))
    if view.has_more:
        click.echo("more Ponds are left out; name some, or: pondage status --all")
    if view.reactors:
        print_table(settings, REACTOR_COLUMNS, reactor_rows(view))
    click.echo(f"{view.environment}: {process_text(view)}")


@verb
@click.argument("pond", metavar="POND")
@json_option
@pass_settings
def why(settings: Settings, pond: str, is_json: bool) -> None:
    """Explain why a Pond runs or does not: each gate between it and its next Run, in plain sentences.

    The name of a reactor explains why it does not fire.
    """
    from pondage.cli.asks import looking
    from pondage.cli.operate.reactor import print_why_reactor
    from pondage.cli.printing.output import print_json
    from pondage.views.ponds.why import WhyView

    with desk(settings) as opened:
        view = opened.ask(looking.why, name=pond)
    if is_json:
        print_json(view)
    elif isinstance(view, WhyView):
        print_why(settings, view)
    else:
        print_why_reactor(settings, view)


def print_why(settings: Settings, view: WhyView) -> None:
    """Print the gates of a Pond as sentences."""
    from pondage.cli.printing.output import styled
    from pondage.views.words import duration_text

    age = "it has never run" if view.staleness is None else f"its data is {duration_text(view.staleness)} old"
    click.echo(f"{styled(view.pond, settings, bold=True)} is {view.state}; {age}.")
    for gate in view.gates:
        click.echo(f"  - {gate.text}")
        if gate.hint:
            click.echo(styled(f"    try: {gate.hint}", settings, dim=True))


@verb
@click.argument("pond", required=False, metavar="[POND]")
@click.option("--state", help="Only Runs in this state: running, completed, failed, subsumed, killed.")
@click.option("--limit", "-n", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many.")
@json_option
@pass_settings
def runs(settings: Settings, pond: str | None, state: str | None, limit: int, is_json: bool) -> None:
    """List the newest Runs, of one Pond or of all.

    `pondage show RUN` prints one in full; a Run can also be called by its Pond and number: sales#12.
    """
    from pondage.cli.asks import looking
    from pondage.cli.printing.output import print_json, print_table
    from pondage.cli.printing.ponds import RUNS_COLUMNS, run_row

    with desk(settings) as opened:
        view = opened.ask(looking.runs, pond=pond, state=state, limit=limit)
    if is_json:
        print_json(view)
        return
    if not view.runs:
        click.echo(f"no Runs; try: pondage run {pond or 'POND'}")
        return
    print_table(settings, RUNS_COLUMNS, [run_row(run, view.at) for run in view.runs], numbers=("TOOK",))
    if view.has_more:
        click.echo(f"older ones are left out; try: pondage runs -n {min(1000, limit * 5)}")
