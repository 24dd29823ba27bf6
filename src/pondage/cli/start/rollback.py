"""`rollback`: the deployment before, or an older Run of a Pond."""

from __future__ import annotations

import click

from pondage.cli.client.desk import Desk, desk
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.event import what_follows
from pondage.cli.printing.output import print_json, print_view
from pondage.cli.printing.plan import print_plan
from pondage.operations import rollbacks
from pondage.views.words import age_text


@verb
@click.argument("pond", required=False, metavar="[POND]")
@click.option("--to", "run", metavar="RUN", help="The completed Run of the Pond to show again: its id, or sales#12.")
@click.option("--dry-run", is_flag=True, help="Without POND: only show what would change.")
@settings_and_json
def rollback(settings: Settings, pond: str | None, run: str | None, dry_run: bool, is_json: bool) -> None:
    """Go back. Without POND: deploy what this project had deployed before, code and declarations.

    Called again it goes one deployment further back; `pondage deploy` brings the files' state again. Like a deploy it
    asks for nothing, and the published data stays until something runs.

    With POND --to RUN: show an older completed Run of the Pond again, as it was. Nothing is computed, the freshness
    stays as it is, and Sinks are not told: they read it with their next Run. The Pond's own next Run replaces it.
    """
    if (pond is None) != (run is None):
        raise click.UsageError("give POND and --to RUN, or neither; `pondage runs POND` lists the Runs")
    with desk(settings) as opened:
        if pond is not None and run is not None:
            _roll_back_pond(opened, pond, run, is_json=is_json)
        else:
            _roll_back_project(settings, opened, is_dry=dry_run, is_json=is_json)


def _roll_back_pond(opened: Desk, name: str, given: str, *, is_json: bool) -> None:
    back = opened.ask(rollbacks.rollback_pond, pond=name, run=given)
    if is_json:
        print_json(back.older)
        return
    number, key = back.older.run.number, back.pond
    if not back.is_shown:
        click.echo(f"{key} goes back to #{number} as soon as the Run that is active has ended")
        return
    pond = back.status.pond(key)
    assert pond is not None, f"{key} was deployed a moment ago"
    stays = "until its next Run"
    if pond.active:
        stays = "until the Run that has just started for demand that was kept replaces it"
    elif pond.triggers:
        stays = f"until its {pond.triggers[0].kind} makes it run; to keep it: pondage calm {pond.name}"
    click.echo(f"{key} shows Run #{number} again ({stays}); {what_follows(back.status, pond)}")


def _roll_back_project(settings: Settings, opened: Desk, *, is_dry: bool, is_json: bool) -> None:
    project = opened.project
    back = opened.ask(rollbacks.rollback, project=project.name, is_dry=is_dry, pools=project.pools)
    print_view(back.plan, lambda: print_plan(settings, back.plan, is_deployed=True), is_json=is_json)
    if is_json or is_dry or back.plan.is_empty:
        return
    click.echo(
        f"deployed again to {back.environment}: the state of {age_text(back.deployed_at, back.at)}; "
        "your files are as they were (pondage deploy brings them back)"
    )
    for key, number in back.older_runs.items():
        click.echo(
            f"{key} still shows what the newer code made, and its contract stands: before it runs, "
            f"show what this code made: pondage rollback {key} --to {number}"
        )
