"""`pondage flow extract`: an output of a flow as bytes, while it runs and for some time after it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from pondage.cli.session import Session, session
from pondage.cli.settings import Settings, Verb, pass_settings

if TYPE_CHECKING:
    from pondage.ledger.extracts import Extractable

LOOK_AGAIN_S = 2.0


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

    It waits until the output has ended. Whoever was cut off goes on with --offset: the same bytes come again.
    """
    from pondage.connect.extraction import extracted
    from pondage.ledger import extracts

    with session(settings) as opened:
        with opened.ledger.reading() as tx:
            one = extracts.find(tx, opened.ledger, opened.environment, run_id, name)
        with _waiting(opened, one) as wait, _target(output, offset) as target:
            size = 0
            for chunk in extracted(opened.ledger, one, offset=offset, wait=None if no_wait else wait):
                target.write(chunk)
                size += len(chunk)
            target.flush()
    if output is not None:
        click.echo(f"{output}: {size:,} bytes of {one.extract.format}")


@contextmanager
def _target(output: Path | None, offset: int) -> Iterator[BinaryIO]:
    if output is None:
        yield sys.stdout.buffer
        return
    if not offset:
        output.write_bytes(b"")
    with output.open("r+b") as file:
        file.seek(offset)
        file.truncate()
        yield file


@contextmanager
def _waiting(opened: Session, one: Extractable) -> Iterator[Callable[[], None]]:
    """Give what waits for a change of the ledger, having said so once."""
    changes = opened.ledger.driver.changes()
    told: list[str] = []

    def wait() -> None:
        if not told:
            told.append(one.name)
            click.echo(f"waiting for {one.extract.node} of {one.run.public_id}", err=True)
        changes.wait(LOOK_AGAIN_S)

    try:
        yield wait
    finally:
        changes.close()
