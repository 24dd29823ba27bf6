"""`why`: why a Pond runs, or does not."""

from __future__ import annotations

import click

from pondage.cli.asks import looking
from pondage.cli.client.desk import desk
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.operate.reactor import print_why_reactor
from pondage.cli.printing.output import print_json, styled
from pondage.views.ponds.why import WhyView
from pondage.views.words import duration_text


@verb
@click.argument("pond", metavar="POND")
@settings_and_json
def why(settings: Settings, pond: str, is_json: bool) -> None:
    """Explain why a Pond runs or does not: each gate between it and its next Run, in plain sentences.

    The name of a reactor explains why it does not fire.
    """
    with desk(settings) as opened:
        view = opened.ask(looking.why, name=pond)
    if is_json:
        print_json(view)
    elif isinstance(view, WhyView):
        print_why(settings, view)
    else:
        print_why_reactor(settings, view)


def print_why(settings: Settings, view: WhyView) -> None:
    """Print the gates of a Pond as sentences."""
    age = "it has never run" if view.staleness is None else f"its data is {duration_text(view.staleness)} old"
    click.echo(f"{styled(view.pond, settings, bold=True)} is {view.state}; {age}.")
    for gate in view.gates:
        click.echo(f"  - {gate.text}")
        if gate.hint:
            click.echo(styled(f"    try: {gate.hint}", settings, dim=True))
