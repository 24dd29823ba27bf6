"""`pondage compact`: many small batches of a growing table become few files, and nothing else changes."""

from __future__ import annotations

import click
import msgspec

from pondage.cli.client.desk import desk
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.answer import answer_of
from pondage.cli.printing.output import print_json
from pondage.views.words import count_text, size_text


class CompactedTable(msgspec.Struct, frozen=True, kw_only=True):
    """One table of a Pond: how many batches were put together, and what they are now."""

    ripple: str
    batches: int
    files: int
    rows: int
    bytes: int


@verb
@click.argument("pond")
@click.option("--timeout", "timeout_s", type=float, default=600.0, show_default=True, help="Seconds to wait.")
@settings_and_json
def compact(settings: Settings, pond: str, timeout_s: float, is_json: bool) -> None:
    """Put the small batches of a Pond that appends or merges into few files, so that reading it is fast.

    What the table shows, its freshness and what Sinks have taken in do not change. It happens by itself when a table
    has more than 64 small batches.
    """
    from pondage.operations import questions

    tables: list[CompactedTable] = []
    hint = f"pondage compact {pond}"
    with desk(settings) as opened:
        begun = opened.ask(questions.compact, pond=pond)
        key = begun.pond
        if begun.tables:
            with opened.workers():
                for each in begun.tables:
                    sizes = answer_of(
                        opened, each.answer, dict[str, int], timeout_s=timeout_s, hint=hint, settings=settings
                    )
                    tables.append(CompactedTable(ripple=each.ripple, batches=each.batches, **sizes))
    if is_json:
        print_json({"pond": key, "tables": tables})
        return
    if not tables:
        click.echo(f"{key} has no small batches to put together")
    for table in tables:
        now = f"{count_text(table.files, 'file')}, {count_text(table.rows, 'row')}, {size_text(table.bytes)}"
        click.echo(f"{key}.{table.ripple}: {count_text(table.batches, 'batch')} are now {now}")
