"""`backup`: a copy of the ledger. Data is never copied: snapshots do not change."""

from __future__ import annotations

from pathlib import Path

import click

from pondage.cli.client.session import session
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.printing.output import print_view
from pondage.views.words import size_text


@verb
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@settings_and_json
def backup(settings: Settings, file: Path, is_json: bool) -> None:
    """Copy the ledger to FILE while it is in use. The copy shows one moment; an existing file is not overwritten.

    A ledger on PostgreSQL is copied with PostgreSQL's own tools; the error says how.
    """
    from pondage.engine.services.backup import backup as copy

    with session(settings) as opened:
        size = copy(opened.ledger, file)
    print_view({"file": str(file), "bytes": size}, f"copied the ledger to {file}: {size_text(size)}", is_json=is_json)
