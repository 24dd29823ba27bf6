"""`pondage secret`: passwords and the like, encrypted in the ledger. A value is typed or piped in and never shown."""

from __future__ import annotations

import sys

import click

from pondage.cli.session import Session, session
from pondage.cli.settings import Settings, Verb, json_option, pass_settings

_NAME = click.argument("name")


@click.group()
def secret() -> None:
    """Keep passwords for your Ripples: encrypted in the ledger, opened by workers only.

    A Ripple asks `run.secret("NAME")`. Its other forms need no storing: `env:NAME` and `file:PATH`.
    """


@secret.command("set", cls=Verb)
@_NAME
@json_option
@pass_settings
def set_(settings: Settings, name: str, is_json: bool) -> None:
    """Store a value under NAME, in place of the one before. It is read from stdin, or asked for on a terminal."""
    from pondage.cli.output import print_json
    from pondage.connect.vault import open_vault
    from pondage.define.names import checked_name
    from pondage.ledger import actors, history, secrets
    from pondage.ledger.verbs import who

    checked_name(name, what="secret")
    value = _value(name)
    with session(settings) as opened:
        vault = open_vault(opened.project.secret_key, is_created=True)
        sealed = vault.seal(value, environment=opened.environment, name=name)
        with opened.ledger.transaction() as tx:
            environment = actors.environment(tx, opened.environment, is_created=True)
            assert environment is not None
            is_new = secrets.put(tx, environment=environment, name=name, sealed=sealed)
            history.audit(tx, environment=environment, who=who(), verb="secret set", target=name)
    if is_json:
        print_json({"name": name, "is_new": is_new})
    else:
        click.echo(f"{'stored' if is_new else 'replaced'} the secret {name}")


@secret.command("list", cls=Verb)
@json_option
@pass_settings
def list_(settings: Settings, is_json: bool) -> None:
    """Print the names of the stored secrets. Values are never shown."""
    from pondage.cli.output import print_json

    with session(settings) as opened:
        found = _names(opened)
    if is_json:
        print_json({"secrets": found})
    elif not found:
        click.echo("there are no secrets; next: pondage secret set NAME")
    else:
        for each in found:
            click.echo(each)


@secret.command("remove", cls=Verb)
@_NAME
@json_option
@pass_settings
def remove(settings: Settings, name: str, is_json: bool) -> None:
    """Delete a secret. Ripples that ask for it fail from then on, and say so."""
    from pondage.cli.output import print_json
    from pondage.errors import NotFound
    from pondage.ledger import actors, history, secrets
    from pondage.ledger.verbs import who

    with session(settings) as opened, opened.ledger.transaction() as tx:
        environment = actors.environment(tx, opened.environment)
        if environment is None or not secrets.remove(tx, environment=environment, name=name):
            raise NotFound(
                f"there is no secret {name} in the environment {opened.environment}", hint="see: pondage secret list"
            )
        history.audit(tx, environment=environment, who=who(), verb="secret remove", target=name)
    if is_json:
        print_json({"name": name})
    else:
        click.echo(f"removed the secret {name}")


def _names(opened: Session) -> list[str]:
    from pondage.ledger import actors, secrets

    with opened.ledger.reading() as tx:
        environment = actors.environment(tx, opened.environment)
        return [] if environment is None else [each.name for each in secrets.names(tx, environment)]


def _value(name: str) -> str:
    if sys.stdin.isatty():
        return str(click.prompt(f"value of {name}", hide_input=True, confirmation_prompt=True))
    value = sys.stdin.read().removesuffix("\n").removesuffix("\r")
    if not value:
        raise click.UsageError("no value on stdin: pipe it in, or call this on a terminal and type it")
    return value
