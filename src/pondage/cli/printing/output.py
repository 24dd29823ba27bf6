"""How a verb prints: JSON of a view, or text. Tables by the terminal library on a terminal, plain columns elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from pondage.cli.client.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


class Cell(msgspec.Struct, frozen=True):
    """A text with a style that only a terminal shows."""

    text: str
    style: str = ""


Row = Sequence[Cell | str]

STATE_STYLES = {
    "running": "bold cyan",
    "queued": "yellow",
    "idle": "dim",
    "failed": "bold red",
    "blocked": "red",
    "killed": "magenta",
    "completed": "green",
    "done": "green",
    "reused": "green",
    "ok": "green",
    "crashed": "bold red",
    "subsumed": "dim",
}


def state_cell(state: str) -> Cell:
    """Answer a state in its colour."""
    return Cell(state, STATE_STYLES.get(state, ""))


def is_terminal() -> bool:
    """Answer whether a person looks at the output as it is written."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def console(settings: Settings) -> Console:
    """Answer the terminal. Only called when there is one."""
    from rich.console import Console

    return Console(no_color=settings.is_colorless or "NO_COLOR" in os.environ, highlight=False, soft_wrap=False)


def print_json(view: object) -> None:
    """Print exactly the view."""
    click.echo(msgspec.json.format(msgspec.json.encode(view)).decode())


def print_view(view: object, text: str | Callable[[], object], *, is_json: bool) -> None:
    """Print the view itself with `--json`, else its text: one line, or what prints it."""
    if is_json:
        print_json(view)
    elif isinstance(text, str):
        click.echo(text)
    else:
        text()


def print_table(
    settings: Settings, columns: Sequence[str], rows: Iterable[Row], *, numbers: Sequence[str] = ()
) -> None:
    """Print a table. `numbers` are the columns whose texts stand at the right."""
    given = list(rows)
    if is_terminal():
        console(settings).print(rich_table(columns, given, numbers=numbers))
        return
    for line in plain_lines(columns, given, numbers=numbers):
        click.echo(line)


def print_list(
    settings: Settings, view: object, columns: Sequence[str], rows: Sequence[Row], *, empty: str, is_json: bool
) -> None:
    """Print the view itself with `--json`, else its rows as a table, or what to know when it is `empty`."""
    print_view(view, lambda: print_table(settings, columns, rows) if rows else click.echo(empty), is_json=is_json)


def rich_table(columns: Sequence[str], rows: Iterable[Row], *, numbers: Sequence[str] = ()) -> Table:
    """Answer a table for the terminal library. Texts are never taken for markup."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_text(cell), style=cell.style if isinstance(cell, Cell) else "") for cell in row))
    return table


def plain_lines(columns: Sequence[str], rows: Sequence[Row], *, numbers: Sequence[str] = ()) -> list[str]:
    """Answer a table as aligned lines without any decoration."""
    texts = [[_text(cell).replace("\n", " ") for cell in row] for row in rows]
    widths = [max([len(column), *(len(row[at]) for row in texts)]) for at, column in enumerate(columns)]
    lines = []
    for row in [list(columns), *texts]:
        cells = [
            cell.rjust(width) if column in numbers else cell.ljust(width)
            for cell, width, column in zip(row, widths, columns, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def print_pairs(settings: Settings, pairs: Iterable[tuple[str, str]]) -> None:
    """Print names with their values; empty values are left out."""
    given = [(name, value) for name, value in pairs if value]
    width = max((len(name) for name, _ in given), default=0)
    for name, value in given:
        click.echo(f"{styled(name.ljust(width), settings, dim=True)}  {value}")


def print_title(text: str, settings: Settings) -> None:
    """Print a heading with an empty line before it."""
    click.echo()
    click.echo(styled(text, settings, bold=True))


def styled(text: str, settings: Settings, *, bold: bool = False, dim: bool = False, fg: str | None = None) -> str:
    """Answer the text with a style where colours are wanted."""
    if settings.is_colorless or "NO_COLOR" in os.environ or not is_terminal():
        return text
    return click.style(text, bold=bold or None, dim=dim or None, fg=fg)


def _text(cell: Cell | str) -> str:
    return cell.text if isinstance(cell, Cell) else cell
