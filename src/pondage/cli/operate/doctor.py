"""Verbs that care for an installation: `doctor`, `warmup`, `vacuum`. What needs Spark runs in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pondage.cli.client.desk import desk
from pondage.cli.client.settings import Settings, json_option, pass_settings, verb
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pondage.views.answers import DoctorView

# The first argument of the answer says whether it was warm before; phases go to stderr as they begin.
_WARM = """
import json, sys
from pondage.errors import PondageError
from pondage.spark.session.warmup import is_warm, warm
try:
    was_warm = is_warm()
    place = warm(lambda phase: print(f"  {phase}", file=sys.stderr, flush=True))
    print(json.dumps({"was_warm": was_warm, "directory": str(place)}))
except PondageError as error:
    print(json.dumps({"error": error.as_json()}))
"""


@verb
@click.option("--replay", "is_replaying", is_flag=True, help="Step the recorded history again and compare.")
@click.option("--cluster", "has_cluster", is_flag=True, help="Start Spark and look around on its executors.")
@json_option
@pass_settings
def doctor(settings: Settings, is_replaying: bool, has_cluster: bool, is_json: bool) -> None:
    """Check what Pondage needs: Python, Java, Spark, the project, its ledger, its warehouse, running processes.

    With --cluster also the Spark cluster: its master, the executors' Python, packages and clocks, and whether what they
    write to the warehouse is seen here.

    Looks for claims that nobody ends, work that nobody can do, silent processes and halted Ponds. Exit code 1 when
    something is not well; each of these says what to do.
    """
    from pondage.cli.printing.output import print_json, styled

    if has_cluster and not is_json:
        click.echo("starting Spark on the cluster, which may take a minute", err=True)
    view = _looked(settings, is_replaying=is_replaying, has_cluster=has_cluster)
    if is_json:
        print_json(view)
    else:
        for each in view.checks:
            sign = styled("ok  ", settings, fg="green") if each.ok else styled("FAIL", settings, fg="red", bold=True)
            click.echo(f"{sign}  {each.check}: {each.detail}")
            if each.hint and not each.ok:
                click.echo(f"      try: {each.hint}")
    if not view.ok:
        click.get_current_context().exit(1)


def _looked(settings: Settings, *, is_replaying: bool, has_cluster: bool) -> DoctorView:
    if settings.server is None:
        # Also where there is no project, or one that cannot be opened: that is what it finds out.
        from pondage.views.installation.doctor import examined

        return examined(settings.project or Path.cwd(), is_replaying=is_replaying, has_cluster=has_cluster)
    from pondage.cli.asks import keeping

    with desk(settings) as opened:
        return opened.ask(keeping.doctor, replay=is_replaying, cluster=has_cluster)


@verb
@click.option("--if-needed", is_flag=True, help="Say nothing when it was done before.")
@click.option("--json", "is_json", is_flag=True, help="Print what was done as JSON.")
def warmup(if_needed: bool, is_json: bool) -> None:
    """Prepare Java and Spark once on this machine, so that every later start takes about half the time.

    What was prepared before is kept: a second call does nothing.
    """
    from pondage.views.installation.doctor import child_environment

    done = subprocess.run(
        [sys.executable, "-c", _WARM], stdout=subprocess.PIPE, text=True, check=False, env=child_environment()
    )
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise PondageError(
            f"the preparation ended with code {done.returncode} and without an answer",
            hint="pondage doctor",
            code="WARMUP",
        ) from None
    if "error" in answer:
        raise PondageError(**answer["error"])
    if is_json:
        click.echo(json.dumps(answer))
    elif not (if_needed and answer["was_warm"]):
        click.echo(f"{'was warm already' if answer['was_warm'] else 'is warm now'}: {answer['directory']}")


@verb
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@json_option
@pass_settings
def vacuum(settings: Settings, dry_run: bool, is_json: bool) -> None:
    """Delete data that nobody needs: snapshots out of retention, files of attempts that never completed, old logs.

    Snapshots are marked first and their files go with a later call, so that nobody reads what vanishes.
    """
    from pondage.cli.asks import keeping
    from pondage.cli.printing.output import print_json
    from pondage.views.words import count_text, size_text

    with desk(settings) as opened:
        report = opened.ask(keeping.vacuum, dry_run=dry_run)
    if is_json:
        print_json(report)
        return
    verb_text = "would be" if report.dry_run else "were"
    click.echo(f"{count_text(report.tombstoned_count, 'snapshot')} {verb_text} marked for deletion")
    click.echo(f"files of {count_text(report.swept_count, 'marked snapshot')} {verb_text} deleted")
    click.echo(f"files of {count_text(report.orphan_count, 'unfinished attempt')} {verb_text} deleted")
    click.echo(f"{count_text(report.logs, 'old log')} {verb_text} deleted; {size_text(report.bytes)} in all")
    click.echo(f"{count_text(report.runs, 'old Run')} {verb_text} taken out of the ledger")
