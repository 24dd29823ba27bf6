"""How a verb prints: JSON of a view, or text. Tables are laid out the same way everywhere; a terminal shows styles."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from pondage.cli.client.settings import Settings
from pondage.cli.printing.layout import SPACE, Cell, Line, Row, line_text, pair_lines, screen_width, table_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


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
    "OK": "green",
    "ERROR": "bold red",
    "ABORTED": "magenta",
    "RUNNING": "bold cyan",
    "SKIPPED": "dim",
    "CANCELLED": "magenta",
}
"""Of Ponds and their Runs in small letters, of jobs in capitals."""


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
    settings: Settings,
    columns: Sequence[str],
    rows: Iterable[Row],
    *,
    numbers: Sequence[str] = (),
    is_endless: bool = False,
) -> None:
    """Print a table. `numbers` are the columns whose texts stand at the right.

    With `is_endless` a row is one line wherever no person looks, however long it is: for data, which others read on.
    """
    width = None if is_endless and not is_terminal() else screen_width()
    _print_lines(settings, table_lines(columns, list(rows), numbers=numbers, width=width, is_whole=is_endless))


def _print_lines(settings: Settings, lines: Iterable[Line]) -> None:
    if is_terminal():
        shown = console(settings)
        for line in lines:
            shown.print(_rich(line), soft_wrap=True)
        return
    for line in lines:
        click.echo(line_text(line))


def print_list(
    settings: Settings, view: object, columns: Sequence[str], rows: Sequence[Row], *, empty: str, is_json: bool
) -> None:
    """Print the view itself with `--json`, else its rows as a table, or what to know when it is `empty`."""
    print_view(view, lambda: print_table(settings, columns, rows) if rows else click.echo(empty), is_json=is_json)


def rich_table(columns: Sequence[str], rows: Iterable[Row], *, width: int) -> Text:
    """Answer a table for the terminal library. Texts are never taken for markup."""
    from rich.text import Text

    return Text("\n").join(_rich(line) for line in table_lines(columns, list(rows), width=width))


def _rich(line: Line) -> Text:
    from rich.text import Text

    found = Text(no_wrap=True)
    for cell in line:
        found.append(cell.text.replace(SPACE, " "), style=cell.style)
    found.rstrip()
    return found


def print_pairs(settings: Settings, pairs: Iterable[tuple[str, str]]) -> None:
    """Print names with their values; empty values are left out."""
    _print_lines(settings, pair_lines([(name, value) for name, value in pairs if value], width=screen_width()))


def print_title(text: str, settings: Settings) -> None:
    """Print a heading with an empty line before it."""
    click.echo()
    click.echo(styled(text, settings, bold=True))


def styled(text: str, settings: Settings, *, bold: bool = False, dim: bool = False, fg: str | None = None) -> str:
    """Answer the text with a style where colours are wanted."""
    if settings.is_colorless or "NO_COLOR" in os.environ or not is_terminal():
        return text
    return click.style(text, bold=bold or None, dim=dim or None, fg=fg)
