"""`deploy`: the Ponds of a project and their code are put into the ledger."""

from __future__ import annotations

import click

from pondage.cli.client.desk import Desk, desk
from pondage.cli.client.settings import Settings, settings_and_json, typed, verb
from pondage.cli.files.project import chosen, read_project
from pondage.cli.follow.ponds import failure_of, is_stuck, short_name
from pondage.cli.follow.screen import follow, screen
from pondage.cli.printing.output import print_view
from pondage.cli.printing.plan import print_plan
from pondage.cli.start.plan import REMOVE_HELP
from pondage.ledger.act.branching import Choice
from pondage.operations import backfills, demand, deployments, ponds
from pondage.plan.deploy.planner import refuse
from pondage.views.plans.plan import PlanView
from pondage.views.ponds.status import PondView, StatusView
from pondage.views.runs.processes import heard_of
from pondage.views.words import count_text


@verb
@click.option("--dry-run", is_flag=True, help="Only show the plan.")
@click.option("--run", "is_run", is_flag=True, help="Then force what changed and everything below it, in order.")
@click.argument("ponds", nargs=-1, metavar="[POND]...")
@click.option("--from", "parent", metavar="ENV", help="A new environment reads this one where it has no Ponds [main].")
@click.option("--empty", "is_empty", is_flag=True, help="A new environment reads no other one.")
@click.option("--all", "is_all", is_flag=True, help="Every Pond of the project, also those that are as in --from.")
@click.option("--remove", "ended", multiple=True, metavar="POND@MAJOR", help=REMOVE_HELP)
@settings_and_json
def deploy(
    settings: Settings,
    dry_run: bool,
    is_run: bool,
    ponds: tuple[str, ...],
    parent: str | None,
    is_empty: bool,
    is_all: bool,
    ended: tuple[str, ...],
    is_json: bool,
) -> None:
    """Put the Ponds of this project into the ledger, with their code, the jobs in its directory `jobs`, and what it
    exposes to trees.

    A deploy asks for nothing: changed code runs when somebody wants its result. Runs that have started finish with
    the code they started with. Refused as a whole when the plan has a problem, or somebody else deployed meanwhile.

    A major version that has left the files stays deployed, with its code, while somebody is bound to it; --remove takes
    it away all the same.

    With --run the changed Ponds compute anew at once, from what their Sources have, and then everything that reads
    them. Exit code 1 when one fails: what reads it is then not run.

    Into an environment below another one (--env dev, which is below main) go only the Ponds that compute something
    else than there, and those that read them; or the named ones. Everything else is read from above.
    """
    with desk(settings) as opened:
        choice = Choice(parent=parent, names=ponds, is_all=is_all, is_empty=is_empty, ended=ended)
        view = deploy_project(opened, choice, is_dry=dry_run)
        print_view(view, lambda: print_plan(settings, view, is_deployed=not dry_run), is_json=is_json)
        if view.is_empty or dry_run:
            return
        if is_run:
            with opened.workers():
                skipped = force_in_order(settings, opened, view.recomputes, is_quiet=is_json)
            if not is_json:
                told(view.recomputes, skipped, goes_on=view.goes_on)
        elif not is_json:
            _tell_of_backfills(opened, view)
            click.echo(typed(f"deployed to {opened.environment}; next: {_next_command(opened, view)}"))


def deploy_project(opened: Desk, choice: Choice | None = None, *, is_dry: bool = False) -> PlanView:
    """Carry out the plan of the project and answer it; raises `PlanError` and changes nothing when it has problems."""
    project = opened.project
    said = chosen(project, choice or Choice())
    read = read_project(project, has_jobs=not said.names)
    if not is_dry:
        return opened.ask(deployments.deploy, **read, choice=said)
    view = opened.ask(deployments.plan, **read, choice=said)
    refuse(view.problems)
    return view


def _tell_of_backfills(opened: Desk, view: PlanView) -> None:
    """Say which backfills wait because of this deploy, and of which tables a part is made by older code now."""
    for each in opened.ask(backfills.backfill_list).backfills:
        is_running = each.state == "running" and each.pond in view.recomputes
        if is_running or each.reason == "deployed":
            how = "pauses when the chunk that runs is done" if is_running else "is paused"
            click.echo(f"backfill {each.backfill} of {each.pond} {how}: pondage backfill resume {each.backfill}")
    for key in view.recomputes:
        count = opened.ask(backfills.backfill_older_code, pond=key).partitions
        if count:
            older = f"{count_text(count, 'partition')} of {key} {'was' if count == 1 else 'were'} made by older code"
            click.echo(f"{older}: pondage backfill {short_name(key)} --older-code")


def _next_command(opened: Desk, view: PlanView) -> str:
    found = opened.ask(ponds.status)
    if not found.ponds and view.reactors:
        return "pondage reactor list" if heard_of(found.processes) else "pondage dev (in another terminal)"
    if not found.ponds and view.exposed:
        return "pondage component list, or pondage flow submit FILE"
    if not found.ponds and view.jobs:
        job = f"pondage job run {view.jobs[0].name}"
        return job if heard_of(found.processes) else f"pondage dev (in another terminal), then {job}"
    outlet = next((pond.name for pond in found.ponds if pond.kind == "outlet"), None)
    name = outlet or next((pond.key.partition("@")[0] for pond in view.ponds), "POND")
    return (
        f"pondage run {name}"
        if heard_of(found.processes)
        else f"pondage dev (in another terminal), then pondage run {name}"
    )


def force_in_order(
    settings: Settings, opened: Desk, keys: tuple[str, ...], *, is_quiet: bool = False
) -> tuple[str, ...]:
    """Force these Ponds, each after those of them that it reads, and wait; answer those that had no input to run with.

    Raises what went wrong with the first that failed. Whoever stops waiting stops the rest from being forced.
    """
    skipped: list[str] = []
    left = list(keys)
    while left:
        before = _status(opened)
        layer = [key for key in left if not _reads_any(before, key, left)]
        for key in layer:
            opened.ask(demand.force, pond=key)
        now = _status(opened)
        waiting = [key for key in layer if _has_begun(before.pond(key), now.pond(key))]
        skipped += [key for key in layer if key not in waiting]
        _wait(settings, opened, before, waiting, is_quiet=is_quiet)
        left = [key for key in left if key not in layer]
    return tuple(skipped)


def _status(opened: Desk) -> StatusView:
    return opened.ask(ponds.status)


def _reads_any(view: StatusView, key: str, left: list[str]) -> bool:
    pond = view.pond(key)
    return pond is not None and any(source in left for source in pond.sources)


def _has_begun(old: PondView | None, new: PondView | None) -> bool:
    # Without any input a Force does nothing; behind an active Run it waits.
    return old is not None and new is not None and (new.runs > old.runs or bool(new.active))


def _wait(settings: Settings, opened: Desk, before: StatusView, keys: list[str], *, is_quiet: bool) -> None:
    since = {key: 0 if (pond := before.pond(key)) is None else pond.runs for key in keys}

    def has_ended(view: StatusView, key: str) -> bool:
        pond = view.pond(key)
        return pond is None or (pond.last_run is not None and pond.last_run.number > since[key])

    def is_over(view: StatusView) -> bool:
        return all(has_ended(view, key) or is_stuck(view.pond(key)) for key in keys)

    if not keys:
        return
    with screen(settings, frozenset(keys), is_quiet=is_quiet) as shown:
        view = follow(opened, shown, is_over)
    assert view is not None, "without a limit it is waited for"
    for key in keys:
        pond = view.pond(key)
        if pond is None or is_stuck(pond):
            raise failure_of(settings, opened, view, key)


def told(keys: tuple[str, ...], skipped: tuple[str, ...], *, goes_on: tuple[str, ...] = ()) -> None:
    """Say what was computed anew, what took its next batch, and what had nothing to compute with."""
    done = [key for key in keys if key not in skipped]
    for what, which in (("computed anew", set(done) - set(goes_on)), ("took the next batch", set(goes_on))):
        if found := [key for key in done if key in which]:
            click.echo(f"{what}: {', '.join(found)}")
    if skipped:
        names = " ".join(short_name(key) for key in skipped)
        bring = f"pondage run {names.partition(' ')[0]} brings it"
        click.echo(typed(f"no input yet, so not run: {', '.join(skipped)} ({bring})"))
