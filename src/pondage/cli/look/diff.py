"""`diff`: what differs between what a Pond shows now and another Run of it, or another environment."""

from __future__ import annotations

import click

from pondage.cli.client.desk import desk
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.answer import answer_of, value_text
from pondage.cli.printing.output import print_table, print_title, print_view
from pondage.operations.questions import diff_view
from pondage.views.ponds.diff import DiffView, StateView
from pondage.views.words import count_text
from pondage.work.diff import TableDifference


@verb
@click.argument("pond", metavar="POND[.RIPPLE]")
@click.option("--against", required=True, metavar="RUN|ENV", help="A Run (sales#12, or its id), or an environment.")
@click.option("--key", "keys", multiple=True, metavar="COLUMN", help="What identifies a row; may be given repeatedly.")
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1),
    default=1e-12,
    show_default=True,
    help="Floating numbers that differ by no more, of themselves or of 1, are the same.",
)
@click.option("--limit", "-n", type=click.IntRange(0, 1000), default=20, show_default=True, help="Rows to show.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0), default=600.0, show_default=True)
@settings_and_json
def diff(
    settings: Settings,
    pond: str,
    against: str,
    keys: tuple[str, ...],
    tolerance: float,
    limit: int,
    timeout_s: float,
    is_json: bool,
) -> None:
    """Compare what a Pond shows now with an older Run of it, or with the same Pond of another environment.

    Rows are matched by --key; without it by the keys of a Pond that merges, or the columns of its rule `unique`; else
    they are compared as a whole, floating numbers as far as the tolerance goes. A worker reads both; when both Runs
    show the same snapshots nobody has to.
    """
    from pondage.operations import questions

    with desk(settings) as opened:
        begun = opened.ask(questions.diff, pond=pond, against=against, keys=keys, tolerance=tolerance, limit=limit)
        tables = begun.tables
        if begun.answer is not None:
            hint, kind = f"pondage diff {pond} --against {against} --key COLUMN", tuple[TableDifference, ...]
            tables = answer_of(opened, begun.answer, kind, timeout_s=timeout_s, hint=hint, settings=settings)
    view = diff_view(begun, tables or ())
    print_view(view, lambda: _print(settings, view), is_json=is_json)


def _print(settings: Settings, view: DiffView) -> None:
    click.echo(f"{view.pond}: from {_state(view.before)} to {_state(view.after)}")
    for table in view.tables:
        print_title(f"{table.ripple} (by {', '.join(table.keys) or 'whole rows'})", settings)
        if table.is_same:
            click.echo(f"no difference in {count_text(table.after_rows or 0, 'row')}")
            continue
        click.echo(
            f"{table.added:,} added, {table.removed:,} removed, {table.changed:,} changed; "
            f"{_rows(table.before_rows)} before, {_rows(table.after_rows)} now"
        )
        for each in table.schema:
            click.echo(f"column {each.column}: {each.before or 'not there'} before, {each.after or 'not there'} now")
        for name, count in sorted(table.columns.items(), key=lambda one: -one[1]):
            click.echo(f"column {name} differs in {count_text(count, 'row')}")
        if table.sample is not None:
            _print_sample(settings, table)


def _print_sample(settings: Settings, table: TableDifference) -> None:
    assert table.sample is not None
    names = [name for name in table.sample.columns if name != "_columns"]
    has_columns = len(names) < len(table.sample.columns)
    rows = []
    for row in table.sample.rows:
        shown = [value_text(value) for value in row[: len(names)]]
        rows.append([*shown, _changes(row[-1])] if has_columns else shown)
    titles = ["CHANGE" if name == "_change" else name for name in names] + (["COLUMNS"] if has_columns else [])
    print_table(settings, titles, rows, is_endless=True)
    if table.sample.truncated:
        click.echo("and there are more (see --limit)")


def _changes(value: object) -> str:
    if not isinstance(value, list):
        return ""
    pairs = [each for each in value if isinstance(each, dict)]
    return ", ".join(f"{each['column']}: {value_text(each['before'])} -> {value_text(each['after'])}" for each in pairs)


def _state(state: StateView) -> str:
    return f"{state.environment} run {state.run} (#{state.number})"


def _rows(rows: int | None) -> str:
    return "not there" if rows is None else count_text(rows, "row")
