"""`pondage secret`: passwords and the like, encrypted in the ledger. A value is typed or piped in and never shown."""

from __future__ import annotations

import sys

import click

from pondage.cli.client.desk import asked
from pondage.cli.client.settings import Settings, Verb, settings_and_json
from pondage.cli.printing.output import print_view
from pondage.define.values.names import checked_name
from pondage.operations import access

_NAME = click.argument("name")


@click.group()
def secret() -> None:
    """Keep passwords for your Ripples: encrypted in the ledger, opened by workers only.

    A Ripple asks `run.secret("NAME")`. Its other forms need no storing: `env:NAME` and `file:PATH`.
    """


@secret.command("set", cls=Verb)
@_NAME
@settings_and_json
def set_(settings: Settings, name: str, is_json: bool) -> None:
    """Store a value under NAME, in place of the one before. It is read from stdin, or asked for on a terminal."""
    checked_name(name, what="secret")
    value = _value(name)
    kept = asked(settings, access.secret_set, name=name, value=value)
    print_view(kept, f"{'stored' if kept.is_new else 'replaced'} the secret {name}", is_json=is_json)


@secret.command("list", cls=Verb)
@settings_and_json
def list_(settings: Settings, is_json: bool) -> None:
    """Print the names of the stored secrets. Values are never shown."""
    view = asked(settings, access.secret_list)
    text = "\n".join(view.secrets) or "there are no secrets; next: pondage secret set NAME"
    print_view(view, text, is_json=is_json)


@secret.command("remove", cls=Verb)
@_NAME
@settings_and_json
def remove(settings: Settings, name: str, is_json: bool) -> None:
    """Delete a secret. Ripples that ask for it fail from then on, and say so."""
    gone = asked(settings, access.secret_remove, name=name)
    print_view(gone, f"removed the secret {name}", is_json=is_json)


def _value(name: str) -> str:
    if sys.stdin.isatty():
        return str(click.prompt(f"value of {name}", hide_input=True, confirmation_prompt=True))
    value = sys.stdin.read().removesuffix("\n").removesuffix("\r")
    if not value:
        raise click.UsageError("no value on stdin: pipe it in, or call this on a terminal and type it")
    return value
