"""What lets somebody or something in: tokens of the server, and secrets, which go in and never come out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from pondage.connect.vault import open_vault
from pondage.define.values.names import checked_name
from pondage.errors import NotFound
from pondage.ledger.tables import actors, api_tokens, secrets
from pondage.ledger.tables.api_tokens import TokenRow
from pondage.operations.operation import Context, Level, NotedRequest, Request, operation
from pondage.operations.ponds import NameRequest
from pondage.views.installation.secrets import SecretsView, names

LONGEST_US = 10 * 366 * 24 * 3600 * 1_000_000
"""Ten years; a token that lasts longer does not expire."""
LevelName = Literal["read", "demand", "operate", "admin"]


class TokenCreateRequest(Request, frozen=True, kw_only=True):
    """What a new token is for."""

    name: str
    level: LevelName
    environments: Annotated[Sequence[str], msgspec.Meta(min_length=1, max_length=100)]
    lasts_us: Annotated[int, msgspec.Meta(ge=1, le=LONGEST_US)] | None = None


class TokenRequest(Request, frozen=True, kw_only=True):
    """A token by its id."""

    token: str


class MadeToken(msgspec.Struct, frozen=True, kw_only=True):
    """A new token, shown this once."""

    token: str
    row: TokenRow


class SecretRequest(NotedRequest, frozen=True, kw_only=True):
    """A value that nothing ever answers."""

    name: str
    value: Annotated[str, msgspec.Meta(min_length=1, max_length=50_000)]


class KeptSecret(msgspec.Struct, frozen=True, kw_only=True):
    """A secret that was stored; `is_new`: there was none of its name."""

    name: str
    is_new: bool


class GoneSecret(msgspec.Struct, frozen=True, kw_only=True):
    """A secret that was deleted."""

    name: str


@operation("GET /v1/tokens", Level.ADMIN, Request)
def token_list(context: Context, _: Request) -> list[TokenRow]:
    """Every token, revoked ones too; never what it is made of."""
    with context.ledger.reading() as tx:
        return api_tokens.every(tx)


@operation("POST /v1/tokens", Level.ADMIN, TokenCreateRequest, status=201)
def token_create(context: Context, asked: TokenCreateRequest) -> MadeToken:
    """Make a token; it is shown this once."""
    for each in asked.environments:
        if each != api_tokens.EVERYWHERE:
            checked_name(each, what="environment")
    with context.ledger.transaction() as tx:
        token, row = api_tokens.create(
            tx,
            context.ledger.ids,
            name=asked.name,
            level=asked.level,
            environments=tuple(asked.environments),
            lasts_us=asked.lasts_us,
        )
        context.audit(tx, "token create", row.id, detail=row.name)
    return MadeToken(token=token, row=row)


@operation("DELETE /v1/tokens/{token}", Level.ADMIN, TokenRequest)
def token_revoke(context: Context, asked: TokenRequest) -> TokenRow:
    """End a token at once."""
    with context.ledger.transaction() as tx:
        row = api_tokens.revoke(tx, asked.token)
        context.audit(tx, "token revoke", row.id, detail=row.name)
        return row


@operation("GET /v1/secrets", Level.READ, Request)
def secret_list(context: Context, _: Request) -> SecretsView:
    """The names of the secrets. Values are never shown."""
    with context.ledger.reading() as tx:
        return names(tx, context.environment)


@operation("POST /v1/secrets/{name}", Level.ADMIN, SecretRequest)
def secret_set(context: Context, asked: SecretRequest) -> KeptSecret:
    """Store a secret, in place of the one before."""
    name = checked_name(asked.name, what="secret")
    vault = open_vault(context.own_project.secret_key, is_created=True)
    sealed = vault.seal(asked.value, environment=context.environment, name=name)
    with context.ledger.transaction() as tx:
        environment = context.audit(tx, "secret set", name)
        is_new = secrets.put(tx, environment=environment, name=name, sealed=sealed)
    return KeptSecret(name=name, is_new=is_new)


@operation("DELETE /v1/secrets/{name}", Level.ADMIN, NameRequest)
def secret_remove(context: Context, asked: NameRequest) -> GoneSecret:
    """Delete a secret."""
    name = asked.name
    with context.ledger.transaction() as tx:
        environment = actors.environment(tx, context.environment)
        if environment is None or not secrets.remove(tx, environment=environment, name=name):
            raise NotFound(
                f"there is no secret {name} in the environment {context.environment}", hint="see: pondage secret list"
            )
        context.audit(tx, "secret remove", name)
    return GoneSecret(name=name)
