"""`promote`: what an environment made is shown in the one above."""

from __future__ import annotations

import click

from pondage.cli.client.desk import asked
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.printing.output import print_view
from pondage.operations import rollbacks


@verb
@click.argument("ponds", nargs=-1, required=True, metavar="POND...")
@click.option("--to", "to", metavar="ENV", help="The environment to show them (else: the one above).")
@click.option("--deploy", "is_deployed", is_flag=True, help="Deploy the code that made them there first.")
@settings_and_json
def promote(settings: Settings, ponds: tuple[str, ...], to: str | None, is_deployed: bool, is_json: bool) -> None:
    """Make what an environment (--env) has made the current data of the one above, without computing anything.

    Refused when the code there is not the code that made it; all Ponds are promoted, or none. Like a rollback it lasts
    until the next Run there.
    """
    done = asked(settings, rollbacks.promote, ponds=ponds, to=to, is_deployed=is_deployed)
    now, later = "shows it now", "shows it as soon as the Run that is active there has ended"
    text = "\n".join(
        f"{each.pond}#{each.number} of {done.environment}: {done.to} {now if each.is_shown else later}"
        for each in done.ponds
    )
    print_view(done, text, is_json=is_json)
