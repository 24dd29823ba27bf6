"""`rollback`: the deployment before, or an older Run of a Pond."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pondage.cli.session import Session, session
from pondage.cli.settings import Settings, json_option, pass_settings, verb

if TYPE_CHECKING:
    from pondage.ledger.rollback import OlderDeployment
    from pondage.plan.values import Deployed, Plan
    from pondage.views.plan import PlanView


@verb
@click.argument("pond", required=False, metavar="[POND]")
@click.option("--to", "run", metavar="RUN", help="The completed Run of the Pond to show again: its id, or sales#12.")
@click.option("--dry-run", is_flag=True, help="Without POND: only show what would change.")
@json_option
@pass_settings
def rollback(settings: Settings, pond: str | None, run: str | None, dry_run: bool, is_json: bool) -> None:
    """Go back. Without POND: deploy what this project had deployed before, code and declarations.

    Called again it goes one deployment further back; `pondage deploy` brings the files' state again. Like a deploy it
    asks for nothing, and the published data stays until something runs.

    With POND --to RUN: show an older completed Run of the Pond again, as it was. Nothing is computed, the freshness
    stays as it is, and Sinks are not told: they read it with their next Run. The Pond's own next Run replaces it.
    """
    if (pond is None) != (run is None):
        raise click.UsageError("give POND and --to RUN, or neither; `pondage runs POND` lists the Runs")
    with session(settings) as opened:
        if pond is not None and run is not None:
            _roll_back_pond(opened, pond, run, is_json=is_json)
        else:
            _roll_back_project(settings, opened, is_dry=dry_run, is_json=is_json)


def _roll_back_pond(opened: Session, name: str, given: str, *, is_json: bool) -> None:
    from pondage.cli.output import print_json
    from pondage.cli.triggers import what_follows
    from pondage.errors import NotFound
    from pondage.ledger.rollback import roll_back_pond
    from pondage.views import find
    from pondage.views.runs import detail, runs
    from pondage.views.status import status

    with opened.ledger.reading() as tx:
        environment = find.environment_id(tx, opened.environment)
        key = find.pond(tx, environment, name).key
        wanted = f"{key}#{given}" if given.isdecimal() else given
        identity = find.run_id(tx, environment, wanted)
        if identity is None:
            raise NotFound(f"there is no Run {given!r}", hint=f"pondage runs {name}", code="NO_RUN")
        older = detail(tx, opened.environment, identity)
    roll_back_pond(opened.ledger, opened.environment, key, identity)
    with opened.ledger.reading() as tx:
        view = status(tx, opened.environment, keys=[key])
        current = runs(tx, opened.environment, pond=key, state="completed", limit=1).runs[0]
    if is_json:
        print_json(older)
        return
    pond = view.pond(key)
    assert pond is not None, f"{key} was deployed a moment ago"
    number = older.run.number
    if current.rolled_back_to != number:
        click.echo(f"{key} goes back to #{number} as soon as the Run that is active has ended")
        return
    stays = "until its next Run"
    if pond.active:
        stays = "until the Run that has just started for demand that was kept replaces it"
    elif pond.triggers:
        stays = f"until its {pond.triggers[0].kind} makes it run; to keep it: pondage calm {pond.name}"
    click.echo(f"{key} shows Run #{number} again ({stays}); {what_follows(view, pond)}")


def _roll_back_project(settings: Settings, opened: Session, *, is_dry: bool, is_json: bool) -> None:
    import msgspec

    from pondage.cli.output import print_json
    from pondage.cli.planning import print_plan
    from pondage.views.plan import plan_view
    from pondage.views.words import age_text

    older, plan, found, now = _planned(opened)
    view = plan_view(plan)
    # Going back is no change that a version should tell.
    kept = tuple(each for each in view.messages if each.kind != "version")
    view = msgspec.structs.replace(view, messages=kept)
    if not is_dry and not view.is_empty:
        _store(opened, older, plan, found, view)
    if is_json:
        print_json(view)
        return
    print_plan(settings, view, is_deployed=True)
    if is_dry or view.is_empty:
        return
    click.echo(
        f"deployed again to {opened.environment}: the state of {age_text(older.deployed_at, now)}; "
        "your files are as they were (pondage deploy brings them back)"
    )
    for line in _data_hints(opened, view):
        click.echo(line)


def _planned(opened: Session) -> tuple[OlderDeployment, Plan, list[Deployed], int]:
    from pondage.ledger.deploy import deployed
    from pondage.ledger.rollback import previous_deployment
    from pondage.plan.planning import checked, make_plan

    project = opened.project.name
    with opened.ledger.reading() as tx:
        older = previous_deployment(tx, opened.ledger, opened.environment, project)
        found = deployed(tx, opened.ledger, opened.environment)
        now = tx.now
    plan = make_plan(list(older.definitions), found, project=project, environment=opened.environment, is_restored=True)
    return older, checked(plan), found, now


def _store(opened: Session, older: OlderDeployment, plan: Plan, found: list[Deployed], view: PlanView) -> None:
    import msgspec

    from pondage.ledger.deploy import deploy

    deploy(
        opened.ledger,
        opened.environment,
        project=opened.project.name,
        definitions=list(plan.ponds),
        removed=list(plan.removed),
        archive=older.archive,
        summary=msgspec.json.encode(view).decode(),
        expected=found,
        pool_sizes=opened.project.pools,
        restored=older.id,
    )


def _data_hints(opened: Session, view: PlanView) -> list[str]:
    """Answer which Ponds still show what the newer code made, and how to show what the older one made."""
    from pondage.ledger import actors
    from pondage.ledger.rollback import newest_run_of
    from pondage.ledger.verbs import environment_id

    lines: list[str] = []
    with opened.ledger.reading() as tx:
        environment = environment_id(tx, opened.environment)
        for pond in view.ponds:
            row = actors.pond(tx, environment, pond.key) if pond.change == "changed" and pond.runs else None
            run = None if row is None else newest_run_of(tx, row, row.definition)
            if run is not None:
                back = f"pondage rollback {pond.key} --to {run}"
                lines.append(
                    f"{pond.key} still shows what the newer code made, and its contract stands: before it runs, "
                    f"show what this code made: {back}"
                )
    return lines
