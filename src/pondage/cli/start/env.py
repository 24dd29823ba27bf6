"""`env`: environments that read each other."""

from __future__ import annotations

import click

from pondage.cli.client.desk import asked, desk
from pondage.cli.client.settings import Settings, Verb, settings_and_json
from pondage.cli.printing.output import print_json, print_list, print_table, print_view
from pondage.operations import environments
from pondage.views.words import count_text, size_text


@click.group()
def env() -> None:
    """Look at environments and remove them.

    `pondage deploy --env dev` makes one: it has only the Ponds that differ, and reads the rest from above.
    """


@env.command("list", cls=Verb)
@settings_and_json
def list_(settings: Settings, is_json: bool) -> None:
    """Print every environment: what is above it, its own Ponds, the size of its own data."""
    view = asked(settings, environments.env_list)
    rows = [
        (each.name, each.parent or "-", str(each.own), str(each.borrowed), size_text(each.bytes))
        for each in view.environments
    ]
    empty = "there are no environments; the first is made by: pondage deploy"
    print_list(
        settings, view, ("ENVIRONMENT", "READS", "PONDS", "BORROWED", "DATA"), rows, empty=empty, is_json=is_json
    )


@env.command("show", cls=Verb)
@click.argument("name")
@settings_and_json
def show(settings: Settings, name: str, is_json: bool) -> None:
    """Print where each Pond that can be read in an environment comes from."""
    view = asked(settings, environments.env_show, name=name)
    if is_json:
        print_json(view)
        return
    above = view.environment.parent
    click.echo(f"environment {name}" + (f", below {above}" if above else ""))
    rows = [
        (each.key, "yes" if each.is_own else "no", each.read_from if each.run else "nothing yet", each.run or "-")
        for each in view.ponds
    ]
    print_table(settings, ("POND", "OWN", "READ FROM", "RUN"), rows)


@env.command("remove", cls=Verb)
@click.argument("name")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@settings_and_json
def remove(settings: Settings, name: str, is_sure: bool, is_json: bool) -> None:
    """Remove an environment: its Ponds, their triggers and Runs, and the data that no other environment shows.

    What runs in it is stopped. The data is marked at once and deleted by the next `pondage vacuum`.
    """
    with desk(settings) as opened:
        own = opened.ask(environments.env_show, name=name).environment.own
        if not is_sure and name != "main":  # which is refused anyway
            click.confirm(f"remove environment {name} with {count_text(own, 'Pond')} of its own?", abort=True, err=True)
        removed = opened.ask(environments.env_remove, name=name)
    text = (
        f"removed {name}: {count_text(removed.snapshots, 'snapshot')} ({size_text(removed.bytes)}) "
        "will be deleted by pondage vacuum"
        + (f"; {count_text(removed.kept, 'snapshot')} stay, because others show them" if removed.kept else "")
    )
    print_view(removed, text, is_json=is_json)
