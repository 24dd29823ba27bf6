"""`lineage`: where a table or a column comes from, and where it goes."""

from __future__ import annotations

from pathlib import Path

import click

from pondage.cli.client.desk import asked
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.printing.drawing import drawing
from pondage.cli.printing.layout import Row, unbroken
from pondage.cli.printing.output import print_json, print_table, print_title, styled
from pondage.cli.printing.target import replace_text
from pondage.operations import ponds
from pondage.views.ponds.lineage_data import Direction, LineageTable, LineageView
from pondage.views.words import list_text, old_text

_FILLS = {"start": "#fff3e0", "other": "#e3f2fd", "missing": "#ffffff"}


@verb
@click.argument("subject", metavar="POND|TABLE|COLUMN|RUN|SNAPSHOT")
@click.option("--up", "way", flag_value="up", help="Only what it is made of.")
@click.option("--down", "way", flag_value="down", help="Only what is made of it.")
@click.option("--columns", "has_columns", is_flag=True, help="Also which columns come from which.")
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Draw the tables into this file.")
@settings_and_json
def lineage(
    settings: Settings, subject: str, way: Direction | None, has_columns: bool, svg: Path | None, is_json: bool
) -> None:
    """Print where a table comes from and where it goes: `sales`, `sales.clean`, or the column `sales.clean.amount`.

    For a Run (sales#12) or a snapshot it is the data that was really read. Columns are known after a table's next run.
    """
    view = asked(settings, ponds.lineage, subject=subject, direction=way or "both", columns=has_columns)
    if svg is not None:
        replace_text(svg, _picture(view))
    if is_json:
        print_json(view)
    elif svg is not None:
        click.echo(f"drawn: {svg} ({len(view.tables)} tables)")
    else:
        _print(settings, view)


def _print(settings: Settings, view: LineageView) -> None:
    for title, rows in _trees(view):
        print_title(title, settings)
        print_table(settings, ("TABLE", "RUN", "DATA AGE"), rows)
    if view.columns:
        print_title("columns", settings)
        print_table(
            settings,
            ("COLUMN", "COMES FROM"),
            [
                (f"{each.target}.{each.target_column or '(rows)'}", f"{each.source}.{each.source_column}")
                for each in view.columns
            ],
        )
    if view.unknown:
        text = f"columns of {list_text(list(view.unknown))}: known after the next run"
        click.echo(styled(text, settings, dim=True))
    if view.has_more:
        click.echo(styled("more tables were left out", settings, dim=True))


def _name(each: LineageTable) -> str:
    return f"{each.table} (spliced)" if each.is_spliced else each.table


def _run(each: LineageTable) -> str:
    return f"#{each.number}" if each.number is not None else ("-" if each.is_deployed else "not deployed")


def _age(each: LineageTable, now: int) -> str:
    return "-" if each.freshness is None else unbroken(old_text(each.freshness - each.delay, now))


def _trees(view: LineageView) -> list[tuple[str, list[Row]]]:
    """Answer what the subject is made of, and what it goes into, as trees with their titles."""
    distances = {each.table: each.distance for each in view.tables}
    made_of: dict[str, list[str]] = {}
    goes_into: dict[str, list[str]] = {}
    for edge in view.edges:
        if edge.source in distances and edge.target in distances:
            if max(distances[edge.source], distances[edge.target]) <= 0:
                made_of.setdefault(edge.target, []).append(edge.source)
            if min(distances[edge.source], distances[edge.target]) >= 0:
                goes_into.setdefault(edge.source, []).append(edge.target)
    way = view.direction
    asked = [("made of", made_of)] if way != "down" else []
    asked += [("goes into", goes_into)] if way != "up" else []
    shown = [(title, children) for title, children in asked if children] or asked[:1]
    return [
        (f"{view.subject} is {title}" if title == "made of" else f"{view.subject} {title}", _tree(view, children))
        for title, children in shown
    ]


def _tree(view: LineageView, children: dict[str, list[str]]) -> list[Row]:
    """Answer a row for each table below those of the subject. What was unfolded already is only named again."""
    tables = {each.table: each for each in view.tables}
    own = [each.table for each in view.tables if each.distance == 0]
    inner = {child for name in own for child in children.get(name, ())}
    found: list[Row] = []
    unfolded: set[str] = set()

    waiting = [(name, "", "") for name in sorted(set(own) - inner, reverse=True)]
    while waiting:
        name, branch, stem = waiting.pop()
        below = sorted(dict.fromkeys(children.get(name, ())))
        again = " (above)" if below and name in unfolded else ""
        each = tables[name]
        found.append((unbroken(branch + _name(each) + again), _run(each), _age(each, view.at)))
        if again:
            continue
        unfolded.add(name)
        marks = [("├─ ", "│  ")] * (len(below) - 1) + [("└─ ", "   ")]
        steps = [(child, stem + mark, stem + more) for child, (mark, more) in zip(below, marks, strict=False)]
        waiting += reversed(steps)
    return found


def _picture(view: LineageView) -> str:
    numbers = {each.table: at for at, each in enumerate(view.tables)}
    fills = [
        _FILLS["start" if each.distance == 0 else "other" if each.is_deployed else "missing"] for each in view.tables
    ]
    arrows = [(numbers[each.source], numbers[each.target], "", "#546e7a") for each in view.edges]
    return drawing([each.table for each in view.tables], arrows, fills)
