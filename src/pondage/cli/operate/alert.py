"""`pondage alert`: what somebody was told of, and whether a webhook works."""

from __future__ import annotations

import click

from pondage.cli.client.desk import asked
from pondage.cli.client.settings import Settings, Verb, settings_and_json
from pondage.cli.printing.output import print_list, print_view
from pondage.operations import installation
from pondage.views.words import age_text


@click.group()
def alert() -> None:
    """Look at alerts, and try a rule of the project file ([alerts.NAME])."""


@alert.command("list", cls=Verb)
@click.option("--open", "is_open", is_flag=True, help="Only what is not over.")
@click.option("--limit", "-n", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many.")
@settings_and_json
def list_(settings: Settings, is_open: bool, limit: int, is_json: bool) -> None:
    """List the newest alerts: one for each root cause."""
    view = asked(settings, installation.alert_list, limit=limit, is_open=is_open)
    rows = [
        (
            each.id,
            each.rule,
            each.trouble.kind,
            age_text(each.opened_at, view.at),
            "open" if each.resolved_at is None else f"over {age_text(each.resolved_at, view.at)}",
            each.trouble.text,
        )
        for each in view.alerts
    ]
    empty = "no alerts; rules for them are [alerts.NAME] in pondage.toml (docs/alerts.md)"
    columns = ("ALERT", "RULE", "KIND", "SINCE", "STATE", "WHAT")
    print_list(settings, view, columns, rows, empty=empty, is_json=is_json)


@alert.command("test", cls=Verb)
@click.argument("rule")
@settings_and_json
def test(settings: Settings, rule: str, is_json: bool) -> None:
    """Send a message that means nothing to the webhook of a rule. A running `pondage dev` or worker delivers it."""
    made = asked(settings, installation.alert_test, rule=rule)
    print_view(made, f"{made.alert} waits to be delivered; what does not arrive: pondage doctor", is_json=is_json)
