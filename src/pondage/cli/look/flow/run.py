"""`pondage flow submit|list|show|watch|stop|kill|resume|cleanup`: trees that run. A flow is a run of a job."""

from __future__ import annotations

from pathlib import Path

import click

from pondage.cli.client.desk import Desk, asked, desk
from pondage.cli.client.settings import Settings, Verb, settings_and_json
from pondage.cli.files import registry
from pondage.cli.files.inference import asking_first
from pondage.cli.files.tree import refuse_tree, stored_tree
from pondage.cli.follow.job_run import killed_text, started_run, watch_run
from pondage.cli.printing.jobs import COMPONENT_COLUMNS, RUN_COLUMNS, component_rows, headline, print_streams, run_rows
from pondage.cli.printing.output import print_json, print_list, print_table, print_title, print_view, styled
from pondage.cli.printing.stages import print_stages
from pondage.define.job.flow import FlowRefused
from pondage.define.values.names import checked_name
from pondage.ledger.act.flow_constants import MAX_BYTES
from pondage.operations import flows, jobs
from pondage.views.jobs.flows import FlowDetail
from pondage.views.words import count_text, moment_text

_WAIT = click.option("--wait", "is_followed", is_flag=True, help="Wait for its end and show how it goes.")
_RUN = click.argument("run_id", metavar="RUN")


@click.command("submit", cls=Verb)
@click.argument("file", metavar="FILE|-")
@click.option("--name", metavar="NAME", help="What the flow is called (else: the name of the file).")
@_WAIT
@settings_and_json
def submit(settings: Settings, file: str, name: str | None, is_followed: bool, is_json: bool) -> None:
    """Check a tree as `flow check --infer` does and run it; `-` reads it from standard input.

    Prints the id of the flow. Exit code 4 when the tree is refused; with --wait, 1 when the flow failed.
    """
    with desk(settings) as opened, asking_first(opened, is_followed=is_followed) as inferring:
        try:
            chosen = None if name is None else checked_name(name, what="flow")
            project = opened.project if settings.server is None else registry.this_project()
            stored, archive = stored_tree(project, file, name=chosen, opened=opened, inferring=inferring)
            begun = opened.ask(jobs.job_run_sent, job=stored, archive=archive, context={}, reason="submitted")
        except FlowRefused as error:
            refuse_tree(error, is_json=is_json)
        _carry_on(settings, opened, begun.run, is_followed=is_followed, is_json=is_json)


@click.command("store", cls=Verb)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@settings_and_json
def store(settings: Settings, file: Path, is_json: bool) -> None:
    """Keep a file of at most 8 MiB as a constant, and print what a tree calls it: `"const": {"ref": "sha256:…"}`.

    It is the octets of a `Bytes`, the JSON of a `Value`, or the Arrow IPC stream of a `Table`.
    """
    with desk(settings) as opened, file.open("rb") as source:
        stored = opened.ask(flows.flow_store, data=source.read(MAX_BYTES + 1))
    print_view(stored, stored.ref, is_json=is_json)


@click.command("list", cls=Verb)
@click.argument("name", required=False)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True)
@settings_and_json
def list_runs(settings: Settings, name: str | None, limit: int, is_json: bool) -> None:
    """List the newest flows, of one name or of all."""
    view = asked(settings, flows.flow_list, name=name, limit=limit)
    columns = tuple({"JOB": "FLOW", "COMPONENTS": "NODES"}.get(one, one) for one in RUN_COLUMNS)
    empty = "no flow has run; try: pondage flow submit FILE"
    print_list(settings, view, columns, run_rows(view.runs, view.at), empty=empty, is_json=is_json)


@click.command("show", cls=Verb)
@_RUN
@settings_and_json
def show(settings: Settings, run_id: str, is_json: bool) -> None:
    """Show a flow: every node with its state, why nodes failed, and what can be extracted."""
    with desk(settings) as opened:
        view = _read(opened, run_id)
    print_view(view, lambda: _print(settings, view), is_json=is_json)


@click.command("watch", cls=Verb)
@_RUN
@settings_and_json
def watch(settings: Settings, run_id: str, is_json: bool) -> None:
    """Follow a flow until it is over, and say how it ended. Ctrl-C ends the watching, not the flow."""
    with desk(settings) as opened:
        run = _read(opened, run_id).flow.run.id
        watch_run(settings, opened, run, is_quiet=is_json)
        view = _read(opened, run)
    _print_end(settings, view, is_json=is_json)


@click.command("stop", cls=Verb)
@_RUN
@click.argument("node", required=False)
@settings_and_json
def stop(settings: Settings, run_id: str, node: str | None, is_json: bool) -> None:
    """Ask a node, or all of a flow, to close its outputs and return; after 30 s its work is cancelled.

    A node that returns is OK, one that has not begun is skipped, any other ends in ERROR with the code STOPPED.
    To end a flow without its verdict: pondage flow kill RUN.
    """
    view = asked(settings, flows.flow_stop, run=run_id, node=node)
    run = view.flow.run
    running = [
        one.name
        for one in view.flow.components
        if one.state == "RUNNING" and (node is None or one.name.partition("[#")[0] == node)
    ]
    rest = f"; may end within 30 s: {', '.join(running)}" if running else ""
    text = f"{run.id} was asked to stop {node or 'everything'}: it is {run.state}{rest}"
    print_view(view, text, is_json=is_json)


@click.command("kill", cls=Verb)
@_RUN
@settings_and_json
def kill(settings: Settings, run_id: str, is_json: bool) -> None:
    """End a flow without its verdict: nothing starts any more, and what runs is asked to stop.

    It ends KILLED when nothing runs, after 30 s in any case; the second time it ends at once. `flow resume` goes on.
    """
    view = asked(settings, flows.flow_kill, run=run_id)
    print_view(view, killed_text(view.flow), is_json=is_json)


@click.command("resume", cls=Verb)
@_RUN
@_WAIT
@settings_and_json
def resume(settings: Settings, run_id: str, is_followed: bool, is_json: bool) -> None:
    """Go on with a flow that failed or was killed: a new run that repeats nothing that is finished and still holds."""
    with desk(settings) as opened:
        old = _read(opened, run_id).flow.run.id
        begun = opened.ask(jobs.job_resume, run=old, fresh_globals=False)
        _carry_on(settings, opened, begun.run, is_followed=is_followed, is_json=is_json)


@click.command("cleanup", cls=Verb)
@_RUN
@settings_and_json
def cleanup(settings: Settings, run_id: str, is_json: bool) -> None:
    """Let what a finished flow left between its nodes go now, not after its retention.

    Its extracts stay for their own retention. The files go with the first `pondage vacuum` that finds that nobody may
    still be reading them, an hour later; it also runs by itself wherever Pondage works.
    """
    done = asked(settings, flows.flow_cleanup, run=run_id)
    given_up = f"{count_text(done.tables, 'table')} and {count_text(done.streams, 'stream')}"
    what = f"given up between nodes: {given_up}"
    when = f"their files go with the first vacuum after {moment_text(done.files_go_at)[:19]}"
    print_view(done, f"{what}; {when}; what can be extracted stays", is_json=is_json)


def _carry_on(settings: Settings, opened: Desk, run_id: str, *, is_followed: bool, is_json: bool) -> None:
    begun = "was submitted; follow it: pondage flow watch"
    ended = started_run(settings, opened, run_id, begun=begun, is_followed=is_followed, is_json=is_json)
    if ended is not None:
        _print_end(settings, _read(opened, ended.run.id), is_json=is_json)


def _read(opened: Desk, run_id: str) -> FlowDetail:
    return opened.ask(flows.flow_show, run=run_id)


def _print_end(settings: Settings, view: FlowDetail, *, is_json: bool) -> None:
    run = view.flow.run
    if is_json:
        print_json(view)
    else:
        click.echo(styled(headline(view.flow), settings, fg="green" if run.state == "OK" else "red"))
        for panic in view.panics:
            click.echo(f"  {panic.node}: {panic.message} [{panic.code}]")
            if settings.is_traced and panic.detail:
                click.echo(panic.detail, err=True)
        for one in view.extracts:
            if one.state == "ready":
                click.echo(f"  fetch {count_text(one.rows or 0, 'row')}: pondage flow extract {run.id} {one.name}")
    if run.state != "OK":
        click.get_current_context().exit(1)


def _print(settings: Settings, view: FlowDetail) -> None:
    click.echo(headline(view.flow))
    click.echo()
    print_table(settings, ("NODE", *COMPONENT_COLUMNS[1:]), component_rows(view.flow), numbers=("ROWS",))
    print_stages(settings, "NODE", ((one.name, one.progress) for one in view.flow.components))
    print_streams(settings, view.flow)
    if view.panics:
        print_title("panics", settings)
        rows = [(one.node, one.code, str(one.attempt), one.message) for one in view.panics]
        print_table(settings, ("NODE", "CODE", "ATTEMPT", "MESSAGE"), rows)
    if view.extracts:
        print_title("extracts", settings)
        found = [
            (one.name, one.source, one.format, one.state, "" if one.rows is None else f"{one.rows:,}",
             "" if one.until is None else moment_text(one.until)[:19])
            for one in view.extracts
        ]  # fmt: skip
        print_table(settings, ("NAME", "FROM", "FORMAT", "STATE", "ROWS", "UNTIL"), found, numbers=("ROWS",))
