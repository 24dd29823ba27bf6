"""`run --sample`: the project's code as it is in the files, tried on a few published rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pondage.cli.client.desk import Desk, desk
from pondage.cli.client.settings import Settings
from pondage.cli.follow.answer import answer_of, print_answer

if TYPE_CHECKING:
    from pondage.views.answers import SampleView


def run_sample(
    settings: Settings, given: str, *, rows: int, limit: int, timeout_s: float | None, is_json: bool
) -> None:
    """Let a worker run the Ripples of a Pond, or one of them, and print their rows. Changes nothing."""
    import msgspec

    from pondage.cli.asks import questions
    from pondage.cli.printing.output import print_json
    from pondage.cli.start.deploy import read_project
    from pondage.views.answers import SampleTable, SampleView

    name, _, ripple = given.partition(".")
    with desk(settings) as opened:
        read = read_project(opened.project, has_jobs=False)
        version = {pond.name: pond.version for pond in sorted(read["ponds"], key=lambda pond: pond.major)}
        wait_s = 300.0 if timeout_s is None else timeout_s
        with opened.workers():
            asked = opened.ask(questions.sample, **read, pond=name, ripple=ripple or None, rows=rows, limit=limit)
            hint = f"mend it and try again: pondage run {given} --sample"
            answer = answer_of(opened, asked.id, timeout_s=wait_s, hint=hint, settings=settings)
        tables = msgspec.json.decode(answer, type=tuple[SampleTable, ...])
        plain = name.partition("@")[0]
        view = SampleView(pond=plain, version=version[plain], rows=rows, tables=tables)
        if is_json:
            print_json(view)
        else:
            _print(settings, opened, view)


def _print(settings: Settings, opened: Desk, view: SampleView) -> None:
    from pondage.cli.printing.output import styled
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
