"""`pondage token`: who may use the server, and what for."""

from __future__ import annotations

import click

from pondage.cli.session import session
from pondage.cli.settings import Settings, Verb, json_option, pass_settings

LEVELS = ("read", "demand", "operate", "admin")


@click.group()
def token() -> None:
    """Make, list and revoke the tokens that `pondage serve` asks for.

    read: look at everything. demand: also trigger Ponds, query, push. operate: also clear, kill, deploy, run jobs.
    admin: also tokens.
    """


@token.command("create", cls=Verb)
@click.option("--level", type=click.Choice(LEVELS), required=True, help="What it may do; each includes those before.")
@click.option("--for", "environments", multiple=True, metavar="ENV", help="Bound to this environment (else: --env).")
@click.option("--everywhere", is_flag=True, help="Bound to every environment, future ones too.")
@click.option("--name", default="", help="Who or what it is for: the audit says it.")
@json_option
@pass_settings
def create(
    settings: Settings, level: str, environments: tuple[str, ...], everywhere: bool, name: str, is_json: bool
) -> None:
    """Make a token and print it, for the only time. The ledger keeps its hash."""
    from pondage.cli.output import print_json
    from pondage.define.names import checked_name
    from pondage.ledger import actors, history, tokens
    from pondage.ledger.verbs import who

    with session(settings) as opened:
        chosen = tuple(checked_name(each, what="environment") for each in environments) or (opened.environment,)
        bound = (tokens.EVERYWHERE,) if everywhere else chosen
        with opened.ledger.transaction() as tx:
            made, row = tokens.create(
                tx, opened.ledger.ids, name=name or f"{level} token", level=level, environments=bound
            )
            environment = actors.environment(tx, opened.environment, is_created=True)
            assert environment is not None
            history.audit(tx, environment=environment, who=who(), verb="token create", target=row.id, note=row.name)
    if is_json:
        print_json({"token": made, "row": row})
    else:
        click.echo(made)
        click.echo(f"{row.id}: {row.level} in {', '.join(row.environments)}; it is not shown again", err=True)


@token.command("list", cls=Verb)
@json_option
@pass_settings
def list_(settings: Settings, is_json: bool) -> None:
    """List the tokens: what each may do and where, never what it is made of."""
    from pondage.cli.output import print_json, print_table
    from pondage.ledger import tokens
    from pondage.views.words import age_text

    with session(settings) as opened, opened.ledger.reading() as tx:
        rows, now = tokens.every(tx), tx.now
    if is_json:
        print_json(rows)
        return
    if not rows:
        click.echo("there are no tokens; next: pondage serve, or pondage token create --level read")
        return
    lines = [
        (
            row.id,
            row.name,
            row.level,
            ", ".join(row.environments),
            age_text(row.created_at, now),
            "valid" if row.revoked_at is None else f"revoked {age_text(row.revoked_at, now)}",
        )
        for row in rows
    ]
    print_table(settings, ("TOKEN", "NAME", "LEVEL", "ENVIRONMENTS", "MADE", "STATE"), lines)


@token.command("revoke", cls=Verb)
@click.argument("token_id", metavar="TOKEN")
@json_option
@pass_settings
def revoke(settings: Settings, token_id: str, is_json: bool) -> None:
    """End a token at once: the server refuses it from the next request on."""
    from pondage.cli.output import print_json
    from pondage.ledger import actors, history, tokens
    from pondage.ledger.verbs import who

    with session(settings) as opened, opened.ledger.transaction() as tx:
        row = tokens.revoke(tx, token_id)
        environment = actors.environment(tx, opened.environment, is_created=True)
        assert environment is not None
        history.audit(tx, environment=environment, who=who(), verb="token revoke", target=row.id, note=row.name)
    if is_json:
        print_json(row)
    else:
        click.echo(f"revoked {row.id} ({row.name})")
