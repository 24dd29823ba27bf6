"""`files`: what a Pond has taken of the folders that it reads, and taking a file again."""

from __future__ import annotations

import click

from pondage.cli.client.desk import asked
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.printing.layout import Cell
from pondage.cli.printing.output import print_json, print_table, print_title, print_view
from pondage.operations import landed_files
from pondage.operations.landed_files import FilesView, FileView
from pondage.views.words import age_text, count_text, size_text


@verb
@click.argument("pond")
@click.option("--path", default="", metavar="TEXT", help="Only files with this in their path.")
@click.option("--limit", "-n", type=click.IntRange(1, 1000), default=20, show_default=True, help="Files to list.")
@click.option("--forget", "forgotten", multiple=True, metavar="PATH", help="Let the next Run take this file again.")
@click.option("--note", default="", help="Why, for the audit.")
@settings_and_json
def files(
    settings: Settings, pond: str, path: str, limit: int, forgotten: tuple[str, ...], note: str, is_json: bool
) -> None:
    """List the files that a Pond has taken by `sources.files`, the newest first: when, and by which Run.

    With --forget the next Run takes files again, as if they had never been there; their old rows stay.
    """
    if forgotten:
        done = asked(settings, landed_files.files_forget, pond=pond, paths=list(forgotten), note=note)
        if is_json:
            print_json(done)
        else:
            click.echo(
                f"the next Run of {done.pond} takes {count_text(len(done.paths), 'file')} again: pondage tap {pond}"
            )
        return
    view = asked(settings, landed_files.files_list, pond=pond, path=path, most=limit)
    print_view(view, lambda: _print(settings, view), is_json=is_json)


def _print(settings: Settings, view: FilesView) -> None:
    for each in view.folders:
        counts = ", ".join(f"{number:,} {state}" for state, number in sorted(each.counts.items())) or "no files"
        print_title(f"{view.pond} {each.ripple}: {each.folder} ({counts}; {size_text(each.bytes)})", settings)
        print_table(settings, ("FILE", "STATE", "SIZE", "TAKEN", "RUN"), [_row(file, view.at) for file in each.files])
        for file in each.files:
            if file.why:
                click.echo(f"  {file.path}: {file.why}")


def _row(file: FileView, now: int) -> tuple[Cell | str, ...]:
    return (
        file.path,
        file.state,
        "-" if file.size < 0 else size_text(file.size),
        age_text(file.at, now) if file.at else "-",
        file.run or "-",
    )
