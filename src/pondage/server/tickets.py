"""Tickets for the WebSockets of a browser, which cannot send a header."""

from __future__ import annotations

import msgspec

from pondage.ledger.tables import environments
from pondage.operations.operation import Level
from pondage.server.call import Call, Route
from pondage.server.limits import TICKET_S


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """Good for one WebSocket, as `?ticket=`, for so many seconds; and who asked for it, and what it may see and do."""

    ticket: str
    seconds: float
    name: str
    level: str
    environment: str
    environments: tuple[str, ...]


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
)
