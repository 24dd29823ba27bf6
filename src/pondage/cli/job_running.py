"""`pondage job run|resume|list|show|kill`: jobs on the ledger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pondage.cli.job_options import values
from pondage.cli.session import Session, session, workers
from pondage.cli.settings import Settings, Verb, json_option, pass_settings

if TYPE_CHECKING:
    from pondage.ledger.job_plans import StoredJob
    from pondage.views.jobs import JobRunDetail

FAILED, ABORTED = 1, 3
_CONTEXT = click.option("--context", metavar="K=V", multiple=True, help="A variable of the context, as JSON or text.")
_FOLLOW = click.option("--follow/--no-follow", "is_followed", default=True, help="Wait and show how it goes (default).")
_NO_FUSE = click.option("--no-fuse", is_flag=True, help="Run every component by itself, writing every table between.")


@click.command("run", cls=Verb)
@click.argument("job", metavar="FILE|NAME")
@_CONTEXT
@_NO_FUSE
@_FOLLOW
@json_option
@pass_settings
def run(
    settings: Settings, job: str, context: tuple[str, ...], no_fuse: bool, is_followed: bool, is_json: bool
) -> None:
    """Run a job: a file as it is, deployed or not, or a deployed job by its name.

    Ctrl-C kills the run: what runs may end within 30 s, and a resume goes on from there. Exit code 1 when it failed, 3
    when it was killed, 4 when it is refused and does not begin.
    """
    from pondage.ledger.jobs import start_job

    with session(settings) as opened:
        stored, archive = _chosen(opened, job, fuses=not no_fuse)

        def start() -> str:
            return start_job(
                opened.ledger, opened.environment, stored, context=values(context), archive=archive, who=_who()
            )

        _carry_on(settings, opened, start, is_followed=is_followed, is_json=is_json)


def _chosen(opened: Session, job: str, *, fuses: bool) -> tuple[StoredJob, bytes]:
    from pondage.cli.job_files import stored_file
    from pondage.ledger.job_deploys import deployed_job

    if Path(job).is_file():
        return stored_file(opened, Path(job), fuses=fuses)
    with opened.ledger.reading() as tx:
        return deployed_job(tx, opened.ledger, opened.environment, job), b""


@click.command("resume", cls=Verb)
@click.argument("run_id", metavar="RUN")
@click.option("--file", type=click.Path(path_type=Path), help="The job as it is now: edited, or with mended code.")
@click.option("--yes", "is_edited", is_flag=True, help="Go on although the job was edited.")
@click.option("--fresh-globals", is_flag=True, help="Keep states and data, but no globals.")
@_NO_FUSE
@_FOLLOW
@json_option
@pass_settings
def resume(
    settings: Settings,
    run_id: str,
    file: Path | None,
    is_edited: bool,
    fresh_globals: bool,
    no_fuse: bool,
    is_followed: bool,
    is_json: bool,
) -> None:
    """Go on with a run that failed or was killed: a new run that repeats nothing that is finished and still holds.

    With --file the job may have been edited: what changed is shown first, and --yes goes on. Exit codes as of `run`.
    """
    from pondage.cli.job_files import stored_file
    from pondage.engine.local import is_intact
    from pondage.ledger import jobs
    from pondage.views.jobs import find_run

    with session(settings) as opened:
        with opened.ledger.reading() as tx:
            old = find_run(tx, opened.environment, run_id).public_id
        stored, archive = (None, b"") if file is None else stored_file(opened, file, fuses=not no_fuse)
        if stored is not None and not is_json:
            _print_difference(opened, old, stored)

        def start() -> str:
            return jobs.resume(
                opened.ledger,
                opened.environment,
                old,
                job=stored,
                archive=archive,
                is_edited=is_edited,
                fresh_globals=fresh_globals,
                is_intact=is_intact,
                who=_who(),
            )

        _carry_on(settings, opened, start, is_followed=is_followed, is_json=is_json)


def _print_difference(opened: Session, run_id: str, stored: StoredJob) -> None:
    from pondage.ledger.jobs import resume_difference

    found = resume_difference(opened.ledger, opened.environment, run_id, stored)
    for title, names in (("changed", found.changed), ("added", found.added), ("removed", found.removed)):
        if names:
            click.echo(f"{title} sub-jobs: {', '.join(names)}")


@click.command("list", cls=Verb)
@click.argument("job", required=False)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True)
@json_option
@pass_settings
def list_jobs(settings: Settings, job: str | None, limit: int, is_json: bool) -> None:
    """List the deployed jobs and the newest runs, of one job or of all."""
    from pondage.cli.job_tables import JOB_COLUMNS, RUN_COLUMNS, job_rows, run_rows
    from pondage.cli.output import print_json, print_table
    from pondage.views.jobs import jobs

    with session(settings) as opened, opened.ledger.reading() as tx:
        view = jobs(tx, opened.ledger, opened.environment, job=job, limit=limit)
    if is_json:
        print_json(view)
        return
    if view.jobs:
        print_table(settings, JOB_COLUMNS, job_rows(view.jobs))
        click.echo()
    if view.runs:
        print_table(settings, RUN_COLUMNS, run_rows(view.runs, view.at))
    else:
        click.echo("no job has run; try: pondage job run FILE")


@click.command("show", cls=Verb)
@click.argument("run_id", metavar="RUN|JOB")
@json_option
@pass_settings
def show(settings: Settings, run_id: str, is_json: bool) -> None:
    """Show a run, or the newest run of a job: every component with its state, its cause and what it wrote."""
    from pondage.views.jobs import job_run

    with session(settings) as opened, opened.ledger.reading() as tx:
        view = job_run(tx, opened.ledger, opened.environment, run_id)
    _print(settings, view, is_json=is_json)


@click.command("kill", cls=Verb)
@click.argument("run_id", metavar="RUN")
@pass_settings
def kill(settings: Settings, run_id: str) -> None:
    """End a run: nothing more starts, and what runs has 30 s to end. The second time it ends at once."""
    from pondage.ledger import jobs
    from pondage.views.jobs import find_run, job_run

    with session(settings) as opened:
        with opened.ledger.reading() as tx:
            found = find_run(tx, opened.environment, run_id).public_id
        jobs.kill(opened.ledger, opened.environment, found, who=_who())
        with opened.ledger.reading() as tx:
            view = job_run(tx, opened.ledger, opened.environment, found)
    running = view.run.counts.get("RUNNING", 0)
    rest = f"; {running} component(s) may end within 30 s" if view.run.ended_at is None else ""
    click.echo(f"{found} is {view.run.state}{rest}; to go on later: pondage job resume {found}")


def _carry_on(
    settings: Settings, opened: Session, start: Callable[[], str], *, is_followed: bool, is_json: bool
) -> None:
    from pondage.cli.job_following import follow_run
    from pondage.cli.output import print_json

    if not is_followed:
        started = start()
        if is_json:
            print_json({"run": started})
        else:
            click.echo(f"{started} has started; see it: pondage job show {started}")
        return
    started = start()  # before workers begin, which takes its time: what is refused is refused at once
    with workers(opened):
        view = follow_run(settings, opened, started, is_quiet=is_json)
    if is_json:
        print_json(view)
    else:
        _print_end(settings, view)
    if view.run.state != "OK":
        click.get_current_context().exit(ABORTED if view.run.state == "ABORTED" else FAILED)


def _print_end(settings: Settings, view: JobRunDetail) -> None:
    from pondage.cli.job_tables import headline
    from pondage.cli.output import styled

    click.echo(styled(headline(view), settings, fg="green" if view.run.state == "OK" else "red"))
    for component in view.components:
        if component.state == "ERROR":
            click.echo(f"  {component.name}: {component.cause}")
            if settings.is_traced and component.trace:
                click.echo(component.trace, err=True)
    if view.run.state != "OK":
        click.echo(f"  more: pondage job show {view.run.id}; go on after mending it: pondage job resume {view.run.id}")


def _print(settings: Settings, view: JobRunDetail, *, is_json: bool) -> None:
    from pondage.cli.job_tables import COMPONENT_COLUMNS, component_rows, headline
    from pondage.cli.output import print_json, print_pairs, print_table, print_title
    from pondage.views.words import size_text

    if is_json:
        print_json(view)
        return
    click.echo(headline(view))
    print_pairs(
        settings,
        [
            ("job", f"{view.run.job} {view.version}".strip()),
            ("plan", view.plan[:12]),
            ("reason", view.run.reason),
            ("resumes", view.run.resumed_from or ""),
            ("halted", view.run.halted or ""),
            ("sub-jobs", ", ".join(f"{sub.name} {sub.state}" for sub in view.subjobs)),
            ("edges fired", str(view.metrics.edges_fired)),
            ("kept", size_text(view.metrics.checkpoint_bytes)),
        ],
    )
    click.echo()
    print_table(settings, COMPONENT_COLUMNS, component_rows(view), numbers=("ROWS",))
    if view.globals:
        print_title("globals", settings)
        print_pairs(settings, [(key, _text(value)) for key, value in sorted(view.globals.items())])


def _text(value: object) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()


def _who() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
