"""`pondage token`: who may use the server, and what for."""

from __future__ import annotations

import click

from pondage.cli.client.desk import asked, desk
from pondage.cli.client.settings import Settings, Verb, settings_and_json
from pondage.cli.printing.output import print_list, print_view
from pondage.define.values.duration import parsed_duration
from pondage.define.values.names import checked_name
from pondage.ledger.tables.api_tokens import TokenRow
from pondage.operations import access, installation
from pondage.views.words import age_text

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
@click.option("--expires", metavar="DURATION", help="After this it is refused: 12h, 30d. Left out: never.")
@settings_and_json
def create(
    settings: Settings,
    level: access.LevelName,
    environments: tuple[str, ...],
    everywhere: bool,
    name: str,
    expires: str | None,
    is_json: bool,
) -> None:
    """Make a token and print it, for the only time. The ledger keeps its hash."""
    with desk(settings) as opened:
        chosen = tuple(checked_name(each, what="environment") for each in environments) or (opened.environment,)
        bound = ("*",) if everywhere else chosen
        made = opened.ask(
            access.token_create,
            name=name or f"{level} token",
            level=level,
            environments=bound,
            lasts_us=None if expires is None else parsed_duration(expires, what="--expires"),
        )
    row = made.row
    print_view(made, made.token, is_json=is_json)
    if not is_json:
        click.echo(f"{row.id}: {row.level} in {', '.join(row.environments)}; it is not shown again", err=True)


@token.command("list", cls=Verb)
@settings_and_json
def list_(settings: Settings, is_json: bool) -> None:
    """List the tokens: what each may do and where, never what it is made of."""
    with desk(settings) as opened:
        rows = opened.ask(access.token_list)
        now = opened.ask(installation.about).at
    columns = ("TOKEN", "NAME", "LEVEL", "ENVIRONMENTS", "MADE", "STATE")
    empty = "there are no tokens; next: pondage serve, or pondage token create --level read"
    print_list(settings, rows, columns, [_line(row, now) for row in rows], empty=empty, is_json=is_json)


def _line(row: TokenRow, now: int) -> tuple[str, ...]:
    environments = ", ".join(row.environments)
    return row.id, row.name, row.level, environments, age_text(row.created_at, now), _state(row, now)


def _state(row: TokenRow, now: int) -> str:
    if row.revoked_at is not None:
        return f"revoked {age_text(row.revoked_at, now)}"
    if row.expires_at is None:
        return "valid"
    return f"{'expired' if row.expires_at <= now else 'expires'} {age_text(row.expires_at, now)}"


@token.command("revoke", cls=Verb)
@click.argument("token_id", metavar="TOKEN")
@settings_and_json
def revoke(settings: Settings, token_id: str, is_json: bool) -> None:
    """End a token at once: the server refuses it from the next request on."""
    row = asked(settings, access.token_revoke, token=token_id)
    print_view(row, f"revoked {row.id} ({row.name})", is_json=is_json)
