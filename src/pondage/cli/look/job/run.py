"""`job run|resume`: a job on the ledger, followed to its end."""

from __future__ import annotations

from pathlib import Path

import click

from pondage.cli.client.desk import Desk, desk
from pondage.cli.client.settings import Settings, Verb, settings_and_json, typed
from pondage.cli.files.inference import asking_first
from pondage.cli.files.job import stored_file
from pondage.cli.follow.job_run import started_run
from pondage.cli.look.job.options import values
from pondage.cli.printing.jobs import headline
from pondage.cli.printing.output import print_view, styled
from pondage.ledger.tables.job_plans import StoredJob
from pondage.operations import jobs
from pondage.views.jobs.jobs import JobRunDetail

FAILED, ABORTED = 1, 3


_CONTEXT = click.option("--context", metavar="K=V", multiple=True, help="A variable of the context, as JSON or text.")
_FOLLOW = click.option("--follow/--no-follow", "is_followed", default=True, help="Wait and show how it goes (default).")
_NO_FUSE = click.option("--no-fuse", is_flag=True, help="Run every component by itself, writing every table between.")


@click.command("run", cls=Verb)
@click.argument("job", metavar="FILE|NAME")
@_CONTEXT
@_NO_FUSE
@_FOLLOW
@settings_and_json
def run(
    settings: Settings, job: str, context: tuple[str, ...], no_fuse: bool, is_followed: bool, is_json: bool
) -> None:
    """Run a job: a file as it is, deployed or not, or a deployed job by its name.

    Types that only Spark knows are inferred first. Ctrl-C kills the run: what runs may end within 30 s, and a resume
    goes on from there. Exit code 1 when it failed, 3 when it was killed, 4 when it is refused and does not begin.
    """
    with desk(settings) as opened, asking_first(opened, is_followed=is_followed) as inferring:
        given = values(context)
        file = Path(job) if Path(job).is_file() else None
        if file is None:
            begun = opened.ask(jobs.job_run, job=job, context=given, reason="by hand")
        else:
            stored, archive = stored_file(opened.project, file, fuses=not no_fuse, inferring=inferring)
            begun = opened.ask(jobs.job_run_sent, job=stored, archive=archive, context=given, reason="by hand")
        _carry_on(settings, opened, begun.run, file=file, is_followed=is_followed, is_json=is_json)


@click.command("resume", cls=Verb)
@click.argument("run_id", metavar="RUN")
@click.option("--file", type=click.Path(path_type=Path), help="The job as it is now: edited, or with mended code.")
@click.option("--yes", "is_edited", is_flag=True, help="Go on although the job was edited.")
@click.option("--fresh-globals", is_flag=True, help="Keep states and data, but no globals.")
@_NO_FUSE
@_FOLLOW
@settings_and_json
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
    with desk(settings) as opened, asking_first(opened, is_followed=is_followed) as inferring:
        old = opened.ask(jobs.job_show, run=run_id).run.id
        stored, archive = (
            (None, b"") if file is None else stored_file(opened.project, file, fuses=not no_fuse, inferring=inferring)
        )
        if stored is not None and not is_json:
            _print_difference(opened, old, stored)
        begun = opened.ask(
            jobs.job_resume, run=old, job=stored, archive=archive, is_edited=is_edited, fresh_globals=fresh_globals
        )
        _carry_on(settings, opened, begun.run, file=file, is_followed=is_followed, is_json=is_json)


def _print_difference(opened: Desk, run_id: str, stored: StoredJob) -> None:
    found = opened.ask(jobs.job_difference, run=run_id, job=stored)
    for title, names in (("changed", found.changed), ("added", found.added), ("removed", found.removed)):
        if names:
            click.echo(f"{title} sub-jobs: {', '.join(names)}")


def _carry_on(
    settings: Settings, opened: Desk, run_id: str, *, file: Path | None, is_followed: bool, is_json: bool
) -> None:
    begun = "has started; see it: pondage job show"
    view = started_run(settings, opened, run_id, begun=begun, is_followed=is_followed, is_json=is_json)
    if view is None:
        return
    print_view(view, lambda: _print_end(settings, view, file), is_json=is_json)
    if view.run.state != "OK":
        click.get_current_context().exit(ABORTED if view.run.state == "ABORTED" else FAILED)


def _print_end(settings: Settings, view: JobRunDetail, file: Path | None) -> None:
    click.echo(styled(headline(view), settings, fg="green" if view.run.state == "OK" else "red"))
    for component in view.components:
        if component.state == "ERROR":
            click.echo(f"  {component.name}: {component.cause}")
            if settings.is_traced and component.trace:
                click.echo(component.trace, err=True)
    if view.run.state != "OK":
        mended = f" --file {file}" if file is not None and view.run.state != "ABORTED" else ""
        again = "go on" if view.run.state == "ABORTED" else "go on after mending it"
        click.echo(typed(f"  more: pondage job show {view.run.id}; {again}: pondage job resume {view.run.id}{mended}"))
