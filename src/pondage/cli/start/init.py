"""`init`: a project to start with."""

from __future__ import annotations

from pathlib import Path

import click

from pondage.cli.client.settings import json_option, verb
from pondage.cli.printing.output import print_view
from pondage.errors import ProjectError
from pondage.project.starter import create_project


@verb
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path), default=".", metavar="[DIRECTORY]")
@click.option("--name", help="The project's name (else: that of the directory).")
@click.option("--example", metavar="NAME", help="Copy an example instead: taxi, retail, pricing, …")
@json_option
def init(directory: Path, name: str | None, example: str | None, is_json: bool) -> None:
    """Start a project: a small pipeline that works, with a test.

    Nothing that exists is overwritten.
    """
    if example is None:
        files = [str(path) for path in create_project(directory, name)]
    else:
        if name is not None:
            raise click.UsageError("an example keeps its name; leave out --name or --example")
        from pondage.cli.start.demo import copy_example

        if not copy_example(directory, example):
            raise ProjectError(
                f"{directory} has the example {example} already", hint=f"cd {directory}, or name another", code="EXISTS"
            )
        files = sorted(str(path) for path in directory.rglob("*") if path.is_file())
    where = "" if directory == Path() else f"cd {directory} && "
    lines = [*(f"wrote {path}" for path in files), f"next: {where}pondage deploy && pondage dev"]
    print_view({"directory": str(directory), "files": files}, "\n".join(lines), is_json=is_json)
