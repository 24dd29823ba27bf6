"""Verbs about a project: `init`, `dev`, `plan`, `deploy`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pondage.cli.session import Session, open_project, session
from pondage.cli.settings import Settings, json_option, pass_settings, verb

if TYPE_CHECKING:
    from pondage.plan.values import Deployed, Plan
    from pondage.views.plan import PlannedPond, PlanView


@verb
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path), default=".", metavar="[DIRECTORY]")
@click.option("--name", help="The project's name (else: that of the directory).")
def init(directory: Path, name: str | None) -> None:
    """Start a project: a small pipeline that works, with a test.

    Nothing that exists is overwritten.
    """
    from pondage.read.starter import create_project

    for path in create_project(directory, name):
        click.echo(f"wrote {path}")
    where = "" if directory == Path() else f"cd {directory} && "
    click.echo(f"next: {where}pondage deploy && pondage dev")


@verb
@click.option("--quiet", "-q", is_flag=True, help="Print errors only.")
@pass_settings
def dev(settings: Settings, quiet: bool) -> None:
    """Run everything on this machine until Ctrl-C: supervisor, workers, timer, reaper.

    Ctrl-C waits for what runs; a second one gives it back at once. Nothing is lost either way.
    """
    from pondage.engine.dev import run_dev

    code = run_dev(open_project(settings), quiet=quiet)
    click.get_current_context().exit(code)


@verb
@json_option
@pass_settings
def plan(settings: Settings, is_json: bool) -> None:
    """Show what a deploy would change. Nothing is changed, and no code of a Ripple is executed."""
    from pondage.cli.output import print_json
    from pondage.views.plan import plan_view

    with session(settings) as opened:
        view = plan_view(make(opened)[0])
    if is_json:
        print_json(view)
    else:
        print_plan(settings, view)
    if view.problems:
        click.get_current_context().exit(1)


@verb
@click.option("--dry-run", is_flag=True, help="Only show the plan.")
@json_option
@pass_settings
def deploy(settings: Settings, dry_run: bool, is_json: bool) -> None:
    """Put the Ponds of this project into the ledger, with their code.

    A deploy asks for nothing: changed code runs when somebody wants its result. Runs that have started finish with
    the code they started with. Refused as a whole when the plan has a problem, or somebody else deployed meanwhile.
    """
    from pondage.cli.output import print_json

    with session(settings) as opened:
        view = deploy_project(opened, is_dry=dry_run)
        if is_json:
            print_json(view)
            return
        print_plan(settings, view)
        if view.is_empty or dry_run:
            return
        click.echo(f"deployed to {opened.environment}; next: {_next_command(opened, view)}")


def make(opened: Session) -> tuple[Plan, list[Deployed]]:
    """Read the project (in a process of its own) and plan it against what is deployed."""
    from pondage.ledger.deploy import deployed
    from pondage.plan.planning import make_plan
    from pondage.read.reader import read_project

    project = opened.project
    definitions = read_project(project)
    with opened.ledger.reading() as tx:
        found = deployed(tx, opened.ledger, opened.environment)
    return make_plan(definitions, found, project=project.name, environment=opened.environment), found


def deploy_project(opened: Session, *, is_dry: bool = False) -> PlanView:
    """Carry out the plan of the project and answer it; raises `PlanError` and changes nothing when it has problems."""
    import msgspec

    from pondage.ledger.deploy import deploy as store
    from pondage.plan.planning import checked
    from pondage.read.archive import pack_project
    from pondage.views.plan import plan_view

    planned, found = make(opened)
    view = plan_view(checked(planned))
    if view.is_empty or is_dry:
        return view
    store(
        opened.ledger,
        opened.environment,
        project=opened.project.name,
        # Unchanged Ponds take the new archive too, so that one worker with one code serves all of them.
        definitions=list(planned.ponds),
        removed=list(planned.removed),
        archive=pack_project(opened.project).data,
        summary=msgspec.json.encode(view).decode(),
        expected=found,
        pool_sizes=opened.project.pools,
    )
    return view


def _next_command(opened: Session, view: PlanView) -> str:
    from pondage.views.status import status

    with opened.ledger.reading() as tx:
        found = status(tx, opened.environment)
    outlet = next((pond.name for pond in found.ponds if pond.kind == "outlet"), None)
    name = outlet or next((pond.key.partition("@")[0] for pond in view.ponds), "POND")
    return f"pondage run {name}" if found.processes else f"pondage dev (in another terminal), then pondage run {name}"


_SIGNS = {"added": ("+", "green"), "changed": ("~", "yellow"), "removed": ("-", "red"), "unchanged": (" ", "dim")}


def print_plan(settings: Settings, view: PlanView) -> None:
    """Print a plan: each Pond in one line, then what is worth reading, then what is wrong."""
    from pondage.cli.output import styled

    click.echo(f"project {view.project}, environment {view.environment}")
    for pond in view.ponds:
        sign, color = _SIGNS[pond.change]
        fg = None if color == "dim" else color
        click.echo(styled(f"  {sign} {_planned_text(pond)}", settings, fg=fg, dim=color == "dim"))
    for message in view.messages:
        click.echo(f"  note: {message.text}")
    for problem in view.problems:
        place = f" at {problem.place}" if problem.place else ""
        click.echo(styled(f"  problem[{problem.code}]: {problem.message}{place}", settings, fg="red"))
        if problem.hint:
            click.echo(f"    try: {problem.hint}")
    if view.is_empty and not view.problems:
        click.echo("nothing to deploy: everything is as it is in the project")


def _planned_text(pond: PlannedPond) -> str:
    words = [pond.key, pond.change]
    if pond.version_from and pond.version_to and pond.version_from != pond.version_to:
        words.append(f"{pond.version_from} -> {pond.version_to}")
    details = [f"{ripple.name}: {', '.join(ripple.what) or ripple.change}" for ripple in pond.ripples]
    details += pond.what
    if pond.change != "unchanged":
        details += [f"reads {', '.join(pond.sources)}"] if pond.sources and pond.change == "added" else []
        details += pond.triggers
        details += ["computes anew at its next Run"] if pond.runs and pond.change == "changed" else []
    return " ".join(words) + (f" ({'; '.join(details)})" if details else "")
