"""`dev`: everything on this machine, until Ctrl-C."""

from __future__ import annotations

from contextlib import nullcontext

import click

from pondage.cli.client.session import open_project, refuse_server
from pondage.cli.client.settings import Settings, pass_settings, verb
from pondage.cli.operate.serve import beside


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
    from pondage.engine.process.voice import unhindered
    from pondage.engine.supervise.dev import run_dev

    refuse_server(settings)
    project = open_project(settings)
    with unhindered(), nullcontext() if no_api else beside(settings, port=port, is_quiet=quiet):
        code = run_dev(project, quiet=quiet)
    click.get_current_context().exit(code)
