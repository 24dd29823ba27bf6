"""`run`: pulse a Pond, follow it, print its rows; or try code that is not deployed."""

from __future__ import annotations

import click

from pondage.cli.client.desk import Desk, desk
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.answer import answer_of, ask, print_answer
from pondage.cli.follow.event import find_ponds
from pondage.cli.follow.ponds import pulse_and_follow
from pondage.cli.printing.output import print_json, print_view, styled
from pondage.operations import ponds
from pondage.views.answers import SampleView
from pondage.views.ponds.show import PondShow
from pondage.views.words import count_text
from pondage.work.answers import SampleTable


@verb
@click.argument("pond", metavar="POND[.RIPPLE]")
@click.option("--sample", is_flag=True, help="Try the project's code on a few published rows. Nothing is deployed.")
@click.option(
    "--rows",
    type=click.IntRange(1, 1_000_000),
    default=1_000,
    show_default=True,
    help="With --sample: rows of each input.",
)
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0), help="Stop waiting after so many seconds.")
@click.option("--limit", "-n", type=click.IntRange(0, 10_000), default=20, show_default=True, help="Rows to print.")
@settings_and_json
def run(
    settings: Settings, pond: str, sample: bool, rows: int, timeout_s: float | None, limit: int, is_json: bool
) -> None:
    """Pulse a Pond, follow it until it is as fresh as now, and print its rows.

    Everything above it that is older runs first. Exit code 1 when a Run fails; what was published stays.
    Without a running `pondage dev` a supervisor is started for as long as the call lasts.

    With --sample the code as it is in your files is run on a few rows of what its Sources have published: all Ripples
    of the Pond one after the other, or the one you name. The rows are shown, and nothing else happens: nothing is
    deployed, written or published, and expectations are not checked.
    """
    if sample:
        run_sample(settings, pond, rows=rows, limit=limit, timeout_s=timeout_s, is_json=is_json)
        return
    if "." in pond:
        name = pond.partition(".")[0]
        raise click.UsageError(
            f"a Pond is published whole, so one Ripple alone cannot be run; try: pondage run {name}, "
            f"or to look at this one: pondage run {pond} --sample"
        )
    with desk(settings) as opened:
        key = find_ponds(opened, (pond,))[0]
        with opened.workers():
            pulse_and_follow(settings, opened, key, timeout_s=timeout_s, is_quiet=is_json)
            answers = {table: ask(opened, everything_of(table), limit=limit) for table in tables_of(opened, key)}
    if is_json:
        print_json(answers)
        return
    for table, answer in answers.items():
        click.echo()
        click.echo(f"{table}:")
        print_answer(settings, answer)


def tables_of(opened: Desk, key: str) -> list[str]:
    """Answer how a query calls the results of a Pond."""
    shown = opened.ask(ponds.show, subject=key)
    assert isinstance(shown, PondShow), key
    return [ripple.table for ripple in shown.ripples if ripple.is_outlet and ripple.published is not None]


def everything_of(table: str) -> str:
    """Answer the question for all rows of a table. Its name is made of checked names only."""
    return f"SELECT * FROM {table}"  # noqa: S608 - names of Ponds and Ripples are identifiers


def run_sample(
    settings: Settings, given: str, *, rows: int, limit: int, timeout_s: float | None, is_json: bool
) -> None:
    """Let a worker run the Ripples of a Pond, or one of them, and print their rows. Changes nothing."""
    from pondage.cli.files.project import read_project
    from pondage.operations import questions

    name, _, ripple = given.partition(".")
    with desk(settings) as opened:
        read = read_project(opened.project, has_jobs=False)
        version = {pond.name: pond.version for pond in sorted(read["ponds"], key=lambda pond: pond.major)}
        wait_s = 300.0 if timeout_s is None else timeout_s
        asked = opened.ask(questions.sample, **read, pond=name, ripple=ripple or None, rows=rows, limit=limit).id
        hint = f"mend it and try again: pondage run {given} --sample"
        kind = tuple[SampleTable, ...]
        tables = answer_of(opened, asked, kind, timeout_s=wait_s, hint=hint, settings=settings)
        plain = name.partition("@")[0]
        view = SampleView(pond=plain, version=version[plain], rows=rows, tables=tables)
        print_view(view, lambda: _print(settings, opened, view), is_json=is_json)


def _print(settings: Settings, opened: Desk, view: SampleView) -> None:
    for table in view.tables:
        click.echo()
        click.echo(f"{view.pond}.{table.ripple}:")
        if table.rows is None:
            click.echo("it called run.unchanged(): there is nothing new, so it and what reads it have no rows")
            continue
        print_answer(settings, table.rows)
        for line in table.breaks:
            click.echo(styled(f"breaks the contract of version {view.version}: {line}", settings, fg="yellow"))
    click.echo()
    click.echo(
        f"this was the code in {opened.project.root.name}/ on at most {count_text(view.rows, 'row')} of each input; "
        "nothing was deployed or written"
    )
