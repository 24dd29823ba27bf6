"""`status`: every Pond and reactor; live until Ctrl-C."""

from __future__ import annotations

import click

from pondage.cli.client.desk import desk
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.screen import Quietly, follow, screen
from pondage.cli.printing.output import is_terminal, print_table, print_view
from pondage.cli.printing.ponds import REACTOR_COLUMNS, STATUS_COLUMNS, process_text, reactor_rows, status_rows
from pondage.operations.ponds import status as status_of_ponds
from pondage.views.ponds.status import StatusView

MOST_PONDS = 500
"""So many are shown when nobody says which: more than anybody reads, and quickly read however many there are."""


@verb
@click.argument("ponds", nargs=-1, metavar="[POND]...")
@click.option("--once", is_flag=True, help="Print it once (as always when the output is not a terminal).")
@click.option("--all", "is_all", is_flag=True, help=f"Every Pond, also when there are more than {MOST_PONDS}.")
@settings_and_json
def status(settings: Settings, ponds: tuple[str, ...], once: bool, is_all: bool, is_json: bool) -> None:
    """Show every Pond (or some): how fresh, who asks for it, what it does. Live until Ctrl-C.

    STATE is idle (nobody asks), queued (asked for, waiting), running, failed, blocked (by a Source) or killed.
    """
    named = ",".join(ponds) or None
    most = None if is_all or is_json or named is not None else MOST_PONDS
    with desk(settings) as opened:
        view = opened.ask(status_of_ponds, ponds=named, most=most)
        if is_terminal() and not once and not is_json:
            chosen = None if named is None else frozenset(pond.key for pond in view.ponds)
            with Quietly(), screen(settings, chosen) as shown:
                follow(opened, shown, lambda _: False, ponds=named, most=most)
            return
        print_view(view, lambda: _print_status(settings, view), is_json=is_json)


def _print_status(settings: Settings, view: StatusView) -> None:
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
