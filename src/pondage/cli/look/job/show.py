"""`job list|show|kill`: the runs of jobs on the ledger."""

from __future__ import annotations

import click
import msgspec

from pondage.cli.client.desk import asked
from pondage.cli.client.settings import Settings, Verb, settings_and_json
from pondage.cli.follow.job_run import killed_text
from pondage.cli.printing.jobs import (
    COMPONENT_COLUMNS,
    JOB_COLUMNS,
    RUN_COLUMNS,
    component_rows,
    headline,
    job_rows,
    print_streams,
    run_rows,
)
from pondage.cli.printing.output import print_json, print_pairs, print_table, print_title, print_view
from pondage.cli.printing.stages import print_stages
from pondage.operations import jobs
from pondage.views.jobs.jobs import JobRunDetail, SubjobView
from pondage.views.words import size_text


@click.command("list", cls=Verb)
@click.argument("job", required=False)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True)
@settings_and_json
def list_jobs(settings: Settings, job: str | None, limit: int, is_json: bool) -> None:
    """List the deployed jobs and the newest runs, of one job or of all."""
    view = asked(settings, jobs.job_list, job=job, limit=limit)
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
@settings_and_json
def show(settings: Settings, run_id: str, is_json: bool) -> None:
    """Show a run, or the newest run of a job: every component with its state, its cause and what it wrote."""
    view = asked(settings, jobs.job_show, run=run_id)
    print_view(view, lambda: _print(settings, view), is_json=is_json)


@click.command("kill", cls=Verb)
@click.argument("run_id", metavar="RUN")
@settings_and_json
def kill(settings: Settings, run_id: str, is_json: bool) -> None:
    """End a run: nothing more starts, and what runs has 30 s to end. The second time it ends at once."""
    view = asked(settings, jobs.job_kill, run=run_id)
    print_view(view, killed_text(view), is_json=is_json)


def _print(settings: Settings, view: JobRunDetail) -> None:
    click.echo(headline(view))
    print_pairs(
        settings,
        [
            ("job", f"{view.run.job} {view.version}".strip()),
            ("plan", view.plan[:12]),
            ("reason", view.run.reason),
            ("resumes", view.run.resumed_from or ""),
            ("halted", view.run.halted or ""),
            ("sub-jobs", ", ".join(_subjob(sub) for sub in view.subjobs)),
            ("edges fired", str(view.metrics.edges_fired)),
            ("kept", size_text(view.metrics.checkpoint_bytes)),
        ],
    )
    click.echo()
    print_table(settings, COMPONENT_COLUMNS, component_rows(view), numbers=("ROWS",))
    print_stages(settings, "COMPONENT", ((one.name, one.progress) for one in view.components))
    print_streams(settings, view)
    if view.globals:
        print_title("globals", settings)
        print_pairs(settings, [(key, _text(value)) for key, value in sorted(view.globals.items())])


def _subjob(sub: SubjobView) -> str:
    is_other = sub.error not in ("", sub.name)
    return f"{sub.name} {sub.state}" + (f" (first {sub.error})" if is_other else "")


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
