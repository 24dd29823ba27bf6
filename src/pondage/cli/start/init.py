"""`init`: a project to start with."""

from __future__ import annotations

from pathlib import Path

import click

from pondage.cli.client.settings import verb
from pondage.project.starter import create_project


@verb
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path), default=".", metavar="[DIRECTORY]")
@click.option("--name", help="The project's name (else: that of the directory).")
def init(directory: Path, name: str | None) -> None:
    """Start a project: a small pipeline that works, with a test.

    Nothing that exists is overwritten.
    """
    for path in create_project(directory, name):
        click.echo(f"wrote {path}")
    where = "" if directory == Path() else f"cd {directory} && "
    click.echo(f"next: {where}pondage deploy && pondage dev")
