"""Routes of tokens: tickets for WebSockets, and the tokens themselves, which only an admin may make and revoke."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from pondage.define.values.names import checked_name
from pondage.ledger.tables import actors, api_tokens, environments, history
from pondage.ledger.tables.api_tokens import TokenRow
from pondage.server.levels import Level
from pondage.server.limits import TICKET_S
from pondage.server.problems import Refused
from pondage.server.table import Call, Route


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """Good for one WebSocket, as `?ticket=`, for so many seconds; and who asked for it, and what it may see and do."""

    ticket: str
    seconds: float
    name: str
    level: str
    environment: str
    environments: tuple[str, ...]


LONGEST_US = 10 * 366 * 24 * 3600 * 1_000_000
"""Ten years; a token that lasts longer does not expire."""


class NewToken(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a new token is for."""

    name: str
    level: Literal["read", "demand", "operate", "admin"]
    environments: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=100)]
    lasts_us: Annotated[int, msgspec.Meta(ge=1, le=LONGEST_US)] | None = None


class MadeToken(msgspec.Struct, frozen=True, kw_only=True):
    """A new token, shown this once."""

    token: str
    row: TokenRow


def _ticket(call: Call) -> Ticket:
    assert call.token is not None
    with call.ledger.reading() as tx:
        known = [row.name for row in environments.rows(tx) if call.token.may_see(row.name)]
    return Ticket(
        ticket=call.service.tickets.issue(call.token),
        seconds=TICKET_S,
        name=call.token.name,
        level=call.token.level,
        environment=call.environment,
        environments=tuple(known),
    )


def _every(call: Call) -> list[TokenRow]:
    with call.ledger.reading() as tx:
        return [row for row in api_tokens.every(tx) if _may_govern(call, row.environments)]


def _create(call: Call) -> MadeToken:
    sent = call.sent(NewToken)
    for each in sent.environments:
        if each != api_tokens.EVERYWHERE:
            checked_name(each, what="environment")
    if not _may_govern(call, sent.environments):
        raise Refused(403, "FORBIDDEN", "a token cannot give more than it has itself")
    with call.ledger.transaction() as tx:
        token, row = api_tokens.create(
            tx,
            call.ledger.ids,
            name=sent.name,
            level=sent.level,
            environments=sent.environments,
            lasts_us=sent.lasts_us,
        )
        environment = actors.environment(tx, call.environment, is_created=True)
        assert environment is not None
        history.audit(tx, call.by(), environment=environment, verb="token create", target=row.id, detail=row.name)
    return MadeToken(token=token, row=row)


def _revoke(call: Call) -> TokenRow:
    with call.ledger.transaction() as tx:
        row = api_tokens.revoke(tx, call.path["token"])
        if not _may_govern(call, row.environments):
            raise Refused(404, "NO_TOKEN", f"there is no valid token {row.id!r}")
        environment = actors.environment(tx, call.environment, is_created=True)
        assert environment is not None
        history.audit(tx, call.by(), environment=environment, verb="token revoke", target=row.id, detail=row.name)
        return row


def _may_govern(call: Call, environments: tuple[str, ...]) -> bool:
    """Answer whether the caller's token reaches all of these environments."""
    own = () if call.token is None else call.token.environments
    return api_tokens.EVERYWHERE in own or set(environments) <= set(own)


ROUTES = (
    Route(
        method="POST",
        path="/v1/tickets",
        level=Level.READ,
        handler=_ticket,
        response=Ticket,
        summary="A ticket for one WebSocket of a browser.",
        status=201,
    ),
    Route(
        method="GET",
        path="/v1/tokens",
        level=Level.ADMIN,
        handler=_every,
        response=list[TokenRow],
        summary="Every token, revoked ones too; never what it is made of.",
    ),
    Route(
        method="POST",
        path="/v1/tokens",
        level=Level.ADMIN,
        handler=_create,
        request=NewToken,
        response=MadeToken,
        summary="Make a token; it is shown this once.",
        status=201,
    ),
    Route(
        method="DELETE",
        path="/v1/tokens/{token}",
        level=Level.ADMIN,
        handler=_revoke,
        response=TokenRow,
        summary="End a token at once.",
    ),
)
