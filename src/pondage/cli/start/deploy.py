"""Verbs about a project: `init`, `dev`, `plan`, `deploy`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pondage.cli.asks.uploads import Read
from pondage.cli.client.desk import Desk, desk
from pondage.cli.client.session import open_project, refuse_server
from pondage.cli.client.settings import Settings, json_option, pass_settings, verb
from pondage.cli.printing.plan import print_plan

if TYPE_CHECKING:
    from pondage.ledger.act.branching import Choice
    from pondage.project.project import Project
    from pondage.views.plans.plan import PlanView


@verb
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path), default=".", metavar="[DIRECTORY]")
@click.option("--name", help="The project's name (else: that of the directory).")
def init(directory: Path, name: str | None) -> None:
    """Start a project: a small pipeline that works, with a test.

    Nothing that exists is overwritten.
    """
    from pondage.project.starter import create_project

    for path in create_project(directory, name):
        click.echo(f"wrote {path}")
    where = "" if directory == Path() else f"cd {directory} && "
    click.echo(f"next: {where}pondage deploy && pondage dev")


@verb
@click.option("--quiet", "-q", is_flag=True, help="Print errors only.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8642, show_default=True, help="Of the page and the API; 0: any."
)
@click.option("--no-api", is_flag=True, help="Serve no page and no API (see: pondage serve).")
@pass_settings
def dev(settings: Settings, quiet: bool, port: int, no_api: bool) -> None:
    """Run everything on this machine until Ctrl-C: supervisor, workers, timer, reaper, and the page for this machine.

    Ctrl-C waits for what runs; a second one gives it back at once. Nothing is lost either way.
    """
    from contextlib import nullcontext

    from pondage.cli.operate.serve import beside
    from pondage.engine.supervise.dev import run_dev

    refuse_server(settings)
    project = open_project(settings)
    with nullcontext() if no_api else beside(settings, port=port, is_quiet=quiet):
        code = run_dev(project, quiet=quiet)
    click.get_current_context().exit(code)


@verb
@click.option("--analyze", is_flag=True, help="Let a worker call the Ripples on empty tables to find their schemas.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0), default=300.0, show_default=True)
@json_option
@pass_settings
def plan(settings: Settings, analyze: bool, timeout_s: float, is_json: bool) -> None:
    """Show what a deploy would change, what then computes anew, and the version that the change calls for.

    Nothing is changed, and no code of a Ripple is executed, so a schema is known after the next run only. With
    --analyze a worker calls the changed Ripples, and those that read them, on empty tables: no Spark job is run, and
    the plan shows columns that come and go and contracts that would break. Inlets whose code is as it was are not
    called.
    """
    from pondage.cli.asks import deploying
    from pondage.cli.printing.output import print_json
    from pondage.cli.start.analyzing import analyzed
    from pondage.ledger.act.branching import Choice

    with desk(settings) as opened:
        project = opened.project
        read, choice = read_project(project), chosen(project, Choice())
        view = opened.ask(deploying.plan, **read, choice=choice)
        if analyze and not view.problems:
            view = analyzed(opened, read, choice, view, timeout_s=timeout_s)
    if is_json:
        print_json(view)
    else:
        print_plan(settings, view)
    if view.problems:
        click.get_current_context().exit(1)


@verb
@click.option("--dry-run", is_flag=True, help="Only show the plan.")
@click.option("--run", "is_run", is_flag=True, help="Then force what changed and everything below it, in order.")
@click.argument("ponds", nargs=-1, metavar="[POND]...")
@click.option("--from", "parent", metavar="ENV", help="A new environment reads this one where it has no Ponds [main].")
@click.option("--empty", "is_empty", is_flag=True, help="A new environment reads no other one.")
@click.option("--all", "is_all", is_flag=True, help="Every Pond of the project, also those that are as in --from.")
@json_option
@pass_settings
def deploy(
    settings: Settings,
    dry_run: bool,
    is_run: bool,
    ponds: tuple[str, ...],
    parent: str | None,
    is_empty: bool,
    is_all: bool,
    is_json: bool,
) -> None:
    """Put the Ponds of this project into the ledger, with their code, the jobs in its directory `jobs`, and what it
    exposes to trees.

    A deploy asks for nothing: changed code runs when somebody wants its result. Runs that have started finish with
    the code they started with. Refused as a whole when the plan has a problem, or somebody else deployed meanwhile.

    With --run the changed Ponds compute anew at once, from what their Sources have, and then everything that reads
    them. Exit code 1 when one fails: what reads it is then not run.

    Into an environment below another one (--env dev, which is below main) go only the Ponds that compute something
    else than there, and those that read them; or the named ones. Everything else is read from above.
    """
    from pondage.cli.printing.output import print_json
    from pondage.cli.start.forcing import force_in_order, told
    from pondage.ledger.act.branching import Choice

    with desk(settings) as opened:
        choice = Choice(parent=parent, names=ponds, is_all=is_all, is_empty=is_empty)
        view = deploy_project(opened, choice, is_dry=dry_run)
        if is_json:
            print_json(view)
        else:
            print_plan(settings, view, is_deployed=not dry_run)
        if view.is_empty or dry_run:
            return
        if is_run:
            with opened.workers():
                skipped = force_in_order(settings, opened, view.recomputes, is_quiet=is_json)
            if not is_json:
                told(view.recomputes, skipped)
        elif not is_json:
            click.echo(f"deployed to {opened.environment}; next: {_next_command(opened, view)}")


def read_project(project: Project, *, has_jobs: bool = True) -> Read:
    """Read the files of a project, in a process of its own, and pack its code."""
    from pondage.cli.files.job import project_jobs
    from pondage.cli.files.registry import not_of_library
    from pondage.define.job.exposed import exposed_by
    from pondage.project.archive import pack_project
    from pondage.project.reader import read_declared

    declared = read_declared(project)
    return Read(
        project=project.name,
        archive=pack_project(project).data,
        ponds=declared.ponds,
        reactors=declared.reactors,
        jobs=project_jobs(project) if has_jobs else {},
        pools=project.pools,
        exposed=exposed_by(not_of_library(declared.components), project.types),
    )


def chosen(project: Project, choice: Choice) -> Choice:
    """Answer what was chosen, with what the project file says about environments."""
    import msgspec

    return msgspec.structs.replace(choice, parents=project.parents)


def deploy_project(opened: Desk, choice: Choice | None = None, *, is_dry: bool = False) -> PlanView:
    """Carry out the plan of the project and answer it; raises `PlanError` and changes nothing when it has problems."""
    from pondage.cli.asks import deploying
    from pondage.ledger.act.branching import Choice
    from pondage.plan.deploy.planner import refuse

    project = opened.project
    said = chosen(project, choice or Choice())
    read = read_project(project, has_jobs=not said.names)
    if not is_dry:
        return opened.ask(deploying.deploy, **read, choice=said)
    view = opened.ask(deploying.plan, **read, choice=said)
    refuse(view.problems)
    return view


def _next_command(opened: Desk, view: PlanView) -> str:
    from pondage.cli.asks import looking

    found = opened.ask(looking.status)
    if not found.ponds and view.reactors:
        return "pondage reactor list" if found.processes else "pondage dev (in another terminal)"
    if not found.ponds and view.exposed:
        return "pondage component list, or pondage flow submit FILE"
    outlet = next((pond.name for pond in found.ponds if pond.kind == "outlet"), None)
    name = outlet or next((pond.key.partition("@")[0] for pond in view.ponds), "POND")
    return f"pondage run {name}" if found.processes else f"pondage dev (in another terminal), then pondage run {name}"
