"""`why`: why a Pond runs, or does not."""

from __future__ import annotations

import click

from pondage.cli.client.desk import asked
from pondage.cli.client.settings import Settings, settings_and_json, typed, verb
from pondage.cli.printing.output import print_view, styled
from pondage.operations import ponds
from pondage.views.ponds.why import WhyView
from pondage.views.reactors.reactors import ReactorWhyView
from pondage.views.words import duration_text


@verb
@click.argument("pond", metavar="POND")
@settings_and_json
def why(settings: Settings, pond: str, is_json: bool) -> None:
    """Explain why a Pond runs or does not: each gate between it and its next Run, in plain sentences.

    The name of a reactor explains why it does not fire.
    """
    view = asked(settings, ponds.why, name=pond)
    print_view(view, lambda: print_why(settings, view), is_json=is_json)


def print_why(settings: Settings, view: WhyView | ReactorWhyView) -> None:
    """Print the gates of a Pond, or what keeps a reactor from firing, as sentences."""
    if isinstance(view, WhyView):
        age = "it has never run" if view.staleness is None else f"its data is {duration_text(view.staleness)} old"
        click.echo(f"{styled(view.pond, settings, bold=True)} is {view.state}; {age}.")
    else:
        click.echo(f"reactor {styled(view.reactor, settings, bold=True)} is {view.state}.")
        if view.where:
            click.echo(f"  its live host is {view.where}")
    for reason in view.gates if isinstance(view, WhyView) else view.reasons:
        click.echo(f"  - {reason.text}")
        if reason.hint:
            click.echo(styled(f"    try: {typed(reason.hint, settings)}", settings, dim=True))
