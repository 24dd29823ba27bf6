"""`read`: all rows of a table into a file."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from pondage.cli.ask.moment import as_of
from pondage.cli.client.desk import desk
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.printing.output import print_view
from pondage.views.words import count_text


class ReadView(msgspec.Struct, frozen=True, kw_only=True):
    """What was written: the table, the file and its rows."""

    table: str
    file: str
    rows: int


@verb
@click.argument("table", metavar="POND[.RIPPLE]")
@click.option("--output", "-o", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file.")
@click.option("--as-of", "then", metavar="WHEN", help="Read the past, as in pondage query.")
@settings_and_json
def read(settings: Settings, table: str, output: Path, then: str | None, is_json: bool) -> None:
    """Write the whole table of a Pond, or of one of its Ripples, into a file: .parquet, .csv or .json (lines).

    The file is replaced when it is whole. Nobody works for it: no worker, no Spark; from near and through a server.
    """
    from pondage.connect.exports import check_format, write
    from pondage.embedded.streams import reader_of
    from pondage.operations import reading

    check_format(output)
    with desk(settings) as opened:
        moment = None if then is None else as_of(opened, then)
        rows = write(reader_of(opened.ask(reading.table_rows, table=table, as_of=moment)), output)
    view = ReadView(table=table, file=str(output), rows=rows)
    print_view(view, f"{output}: {count_text(rows, 'row')} of {table}", is_json=is_json)
