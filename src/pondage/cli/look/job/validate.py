"""`job validate`: everything that is wrong with a job file."""

from __future__ import annotations

from pathlib import Path

import click

from pondage.cli.client.desk import desk
from pondage.cli.client.settings import Settings, Verb, settings_and_json
from pondage.cli.files.inference import asking, infer_option, unresolved_line
from pondage.cli.files.job import planned_file, problem_line
from pondage.cli.look.job.options import file_argument
from pondage.cli.printing.errors import refuse
from pondage.cli.printing.output import print_json
from pondage.define.job.job import JobRefused
from pondage.views.words import count_text


@click.command("validate", cls=Verb)
@file_argument
@infer_option
@settings_and_json
def validate(settings: Settings, file: Path, is_inferred: bool, is_json: bool) -> None:
    """Check a job file and its joblets, and print everything that is wrong, not only the first thing.

    Exits 0 when the job can run (warnings do not matter), 4 when it is refused.
    """
    try:
        if is_inferred:
            with desk(settings) as opened, asking(opened) as inferring:
                planned = planned_file(file, inferring=inferring)
        else:
            planned = planned_file(file)
    except JobRefused as error:
        view = {"ok": False, "problems": error.problems, "warnings": []}
        refuse([problem_line(one) for one in error.problems], view, is_json=is_json)
    if is_json:
        print_json(
            {
                "ok": True,
                "problems": [],
                "warnings": planned.warnings,
                "inferred": planned.inferred,
                "unresolved": planned.unresolved,
                "reasons": planned.reasons,
            }
        )
        return
    for warning in planned.warnings:
        click.echo(f"warning: {problem_line(warning)}")
    for port, type_ in planned.inferred.items():
        click.echo(f"inferred: {port} is {type_}")
    for port in planned.unresolved:
        click.echo(unresolved_line(port, planned.reasons))
    plan = planned.plan
    parts = f"{count_text(len(plan.components), 'component')}, {count_text(len(plan.subs), 'sub-job')}"
    click.echo(f"ok: {parts}, plan {plan.hash[:12]}")
