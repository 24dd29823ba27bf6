"""`pondage flow extract`: an output of a flow as bytes, while it runs and for some time after it."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

import click

from pondage.cli.client.desk import Desk, desk
from pondage.cli.client.settings import Settings, Verb, pass_settings
from pondage.cli.printing.target import replacing
from pondage.operations import flows


@click.command("extract", cls=Verb)
@click.argument("run_id", metavar="RUN")
@click.argument("name")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file, not to the output."
)
@click.option(
    "--offset", type=click.IntRange(min=0), default=0, help="Begin at this byte: what was fetched before stays."
)
@click.option("--no-wait", is_flag=True, help="Fail when the output is not there yet.")
@pass_settings
def extract(settings: Settings, run_id: str, name: str, output: Path | None, offset: int, no_wait: bool) -> None:
    """Fetch an extract of a flow as bytes, in the format that the tree says.

    It waits until the output has ended. Whoever was cut off goes on with --offset: the same bytes come again. FILE is
    replaced when all of it is there; until then what was fetched is in FILE.part.
    """
    size = 0
    with desk(settings) as opened:
        what = _known(opened, run_id, name, no_wait=no_wait)
        with _target(output, offset) as target:
            try:
                for chunk in opened.ask(flows.flow_extract, run=run_id, name=name, offset=offset, wait=not no_wait):
                    target.write(chunk)
                    size += len(chunk)
                target.flush()
            except BaseException:
                has = offset + size
                if output is not None and has:
                    click.echo(f"{output}.part has {has:,} bytes: go on with --offset {has}", err=True)
                raise
    if output is not None:
        click.echo(f"{output}: {size:,} bytes of {what}")


def _known(opened: Desk, run_id: str, name: str, *, no_wait: bool) -> str:
    """Answer the format of an extract, having said when it must be waited for."""
    view = opened.ask(flows.flow_show, run=run_id)
    found = next((one for one in view.extracts if one.name == name), None)
    if found is not None and found.state == "waiting" and not no_wait:
        node = found.source.partition(".")[0]
        click.echo(f"waiting for {node} of {view.flow.run.id}", err=True)
    return "bytes" if found is None else found.format


def _target(output: Path | None, offset: int) -> AbstractContextManager[BinaryIO]:
    if output is None:
        return nullcontext(sys.stdout.buffer)
    return replacing(output, offset=offset, is_resumable=True)
