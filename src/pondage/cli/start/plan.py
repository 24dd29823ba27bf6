"""`plan`: what a deploy would change; with `--analyze` a worker finds the schemas."""

from __future__ import annotations

import click
import msgspec

from pondage.cli.client.desk import Desk, desk
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.files.project import chosen, read_project
from pondage.cli.follow.answer import answer_of
from pondage.cli.printing.output import print_view
from pondage.cli.printing.plan import print_plan
from pondage.ledger.act.branching import Choice
from pondage.operations import deployments
from pondage.operations.uploads import Read
from pondage.views.plans.plan import PlanView
from pondage.work.answers import InferredSchema

REMOVE_HELP = "Take a major away that has left the files, whoever still reads it."


@verb
@click.option("--analyze", is_flag=True, help="Let a worker call the Ripples on empty tables to find their schemas.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0), default=300.0, show_default=True)
@click.option("--remove", "ended", multiple=True, metavar="POND@MAJOR", help=REMOVE_HELP)
@settings_and_json
def plan(settings: Settings, analyze: bool, timeout_s: float, ended: tuple[str, ...], is_json: bool) -> None:
    """Show what a deploy would change, what then computes anew, and the version that the change calls for.

    Nothing is changed, and no code of a Ripple is executed, so a schema is known after the next run only. With
    --analyze a worker calls the changed Ripples, and those that read them, on empty tables: no Spark job is run, and
    the plan shows columns that come and go and contracts that would break. Inlets whose code is as it was are not
    called.
    """
    with desk(settings) as opened:
        project = opened.project
        read, choice = read_project(project), chosen(project, Choice(ended=ended))
        view = opened.ask(deployments.plan, **read, choice=choice)
        if analyze and not view.problems:
            view = analyzed(opened, read, choice, view, timeout_s=timeout_s)
    print_view(view, lambda: print_plan(settings, view), is_json=is_json)
    if view.problems:
        click.get_current_context().exit(1)


def analyzed(opened: Desk, read: Read, choice: Choice, view: PlanView, *, timeout_s: float) -> PlanView:
    """Answer the plan with the schemas of everything that computes anew. Nothing is deployed or written."""
    asked = opened.ask(deployments.analyze, **read, choice=choice, timeout_s=timeout_s).answer
    if asked is None:
        return msgspec.structs.replace(view, is_analyzed=True)
    hint = "pondage plan shows the rest without a worker"
    inferred = answer_of(opened, asked, tuple[InferredSchema, ...], timeout_s=timeout_s, hint=hint)
    return opened.ask(deployments.plan, **read, choice=choice, inferred=inferred)
