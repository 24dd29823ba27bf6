"""`run --sample`: the project's code as it is in the files, tried on a few published rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pondage.cli.asking import answer_of, print_answer
from pondage.cli.session import Session, session, workers
from pondage.cli.settings import Settings

if TYPE_CHECKING:
    from pondage.views.answers import SampleView


def run_sample(
    settings: Settings, given: str, *, rows: int, limit: int, timeout_s: float | None, is_json: bool
) -> None:
    """Let a worker run the Ripples of a Pond, or one of them, and print their rows. Changes nothing."""
    import msgspec

    from pondage.cli.output import print_json
    from pondage.cli.projects import make
    from pondage.ledger.trials import submit_sample
    from pondage.plan.planning import checked
    from pondage.read.archive import pack_project
    from pondage.views.answers import SampleTable, SampleView
    from pondage.views.declared import declared_pond

    name, _, ripple = given.partition(".")
    with session(settings) as opened:
        definition = declared_pond(checked(make(opened)[0]), name, ripple)
        archive = pack_project(opened.project).data
        wait_s = 300.0 if timeout_s is None else timeout_s
        with workers(opened):
            asked = submit_sample(
                opened.ledger,
                opened.environment,
                definition,
                archive=archive,
                ripple=ripple or None,
                rows=rows,
                limit=limit,
                timeout_s=timeout_s,
            )
            hint = f"mend it and try again: pondage run {given} --sample"
            answer = answer_of(opened, asked, timeout_s=wait_s, hint=hint, settings=settings)
        tables = msgspec.json.decode(answer, type=tuple[SampleTable, ...])
        view = SampleView(pond=definition.name, version=definition.version, rows=rows, tables=tables)
        if is_json:
            print_json(view)
        else:
            _print(settings, opened, view)


def _print(settings: Settings, opened: Session, view: SampleView) -> None:
    from pondage.cli.output import styled
    from pondage.views.words import count_text

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
