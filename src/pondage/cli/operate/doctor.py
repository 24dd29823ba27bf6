"""`doctor`: what Pondage needs, and whether all is well."""

from __future__ import annotations

from pathlib import Path

import click

from pondage.cli.client.desk import desk
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.printing.output import print_json, styled
from pondage.operations import installation
from pondage.views.answers import DoctorView


@verb
@click.option("--replay", "is_replaying", is_flag=True, help="Step the recorded history again and compare.")
@click.option("--cluster", "has_cluster", is_flag=True, help="Start Spark and look around on its executors.")
@settings_and_json
def doctor(settings: Settings, is_replaying: bool, has_cluster: bool, is_json: bool) -> None:
    """Check what Pondage needs: Python, Java, Spark, the project, its ledger, its warehouse, running processes.

    With --cluster also the Spark cluster: its master, the executors' Python, packages and clocks, and whether what they
    write to the warehouse is seen here.

    Looks for claims that nobody ends, work that nobody can do, silent processes and halted Ponds. Exit code 1 when
    something is not well; each of these says what to do.
    """
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
    with desk(settings) as opened:
        return opened.ask(installation.doctor, replay=is_replaying, cluster=has_cluster)
