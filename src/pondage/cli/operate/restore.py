"""`restore`: a copy of the ledger is put back, and the data it names is looked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pondage.cli.client.session import Session, session
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.printing.output import print_json
from pondage.views.words import count_text

if TYPE_CHECKING:
    from pondage.engine.services.backup import Checked

MOST_NAMED = 20


@verb
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--check", "is_check", is_flag=True, help="Restore nothing: only look for the data the ledger names.")
@settings_and_json
def restore(settings: Settings, file: Path | None, is_check: bool, is_json: bool) -> None:
    """Put the copy FILE in the place of the ledger, keep what was there beside it, and look for the data it names.

    Nothing may work for the ledger meanwhile. Exit code 1 when data is missing: a Pond that is forced makes it anew.
    """
    from pondage.engine.services.backup import check_snapshots
    from pondage.engine.services.backup import restore as put_back

    if (file is None) != is_check:
        raise click.UsageError("name the FILE to restore, or say --check")
    with session(settings) as opened:
        kept = None if file is None else put_back(opened.ledger, file)
        checked = check_snapshots(opened.ledger, opened.project.warehouse)
    if is_json:
        print_json({"file": None if file is None else str(file), "kept": None if kept is None else str(kept),
                    "checked": checked})  # fmt: skip
    else:
        if kept is not None:
            click.echo(f"restored {file}; what was there is kept in {kept}")
        _tell(opened, checked)
    if checked is not None and checked.missing:
        click.get_current_context().exit(1)


def _tell(opened: Session, checked: Checked | None) -> None:
    if checked is None:
        click.echo(f"the warehouse {opened.project.warehouse} is not on this machine: its data was not looked at")
        return
    if not checked.missing:
        click.echo(f"the data of all {count_text(checked.looked_at, 'snapshot')} is there")
        return
    click.echo(f"{len(checked.missing)} of {count_text(checked.looked_at, 'snapshot')} have no data:")
    for each in checked.missing[:MOST_NAMED]:
        click.echo(f"  {each.public_id} of {each.pond}.{each.ripple}, Run {each.run}: {each.path}")
    if len(checked.missing) > MOST_NAMED:
        click.echo(f"  and {len(checked.missing) - MOST_NAMED} more (--json names all)")
    for name in sorted({each.pond for each in checked.missing}):
        click.echo(f"next: pondage force {name}")
