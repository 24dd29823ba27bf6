"""`vacuum`: data that no Run needs any more is deleted."""

from __future__ import annotations

import click

from pondage.cli.client.desk import asked
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.printing.output import print_json
from pondage.operations import installation
from pondage.views.words import count_text, size_text


@verb
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@settings_and_json
def vacuum(settings: Settings, dry_run: bool, is_json: bool) -> None:
    """Delete data that nobody needs: of Runs that are not kept, of attempts that never completed, old logs.

    Of older Runs fewer stay, as `keep` says. What only the others show is marked first, and its files go with a later
    call, so that nobody reads what vanishes.
    """
    report = asked(settings, installation.vacuum, dry_run=dry_run)
    if is_json:
        print_json(report)
        return
    verb_text = "would be" if report.dry_run else "were"
    click.echo(f"{count_text(report.thinned, 'Run')} {verb_text} let go, because they are older than what is kept")
    click.echo(f"{count_text(report.tombstoned_count, 'snapshot')} {verb_text} marked for deletion")
    click.echo(f"files of {count_text(report.swept_count, 'marked snapshot')} {verb_text} deleted")
    click.echo(f"files of {count_text(report.orphan_count, 'unfinished attempt')} {verb_text} deleted")
    click.echo(f"{count_text(report.logs, 'old log')} {verb_text} deleted; {size_text(report.bytes)} in all")
    click.echo(f"{count_text(report.runs, 'old Run')} {verb_text} taken out of the ledger")
