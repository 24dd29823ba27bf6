"""`init`: a project to start with."""

from __future__ import annotations

from pathlib import Path

import click

from pondage.cli.client.settings import json_option, verb
from pondage.cli.printing.output import print_view
from pondage.project.starter import create_project


@verb
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path), default=".", metavar="[DIRECTORY]")
@click.option("--name", help="The project's name (else: that of the directory).")
@json_option
def init(directory: Path, name: str | None, is_json: bool) -> None:
    """Start a project: a small pipeline that works, with a test.

    Nothing that exists is overwritten.
    """
    files = [str(path) for path in create_project(directory, name)]
    where = "" if directory == Path() else f"cd {directory} && "
    lines = [*(f"wrote {path}" for path in files), f"next: {where}pondage deploy && pondage dev"]
    print_view({"directory": str(directory), "files": files}, "\n".join(lines), is_json=is_json)
