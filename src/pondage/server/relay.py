"""Asking the live host that owns a reactor, over its socket."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pondage.engine.live.client import LiveClient, NoLiveHost, client_of
from pondage.ledger.tables.reactors import ReactorRow
from pondage.server.table import Call
from pondage.views.reactors.reactors import reactor_row

PATIENCE_S = 3.0


def owner(call: Call, name: str) -> tuple[ReactorRow, LiveClient]:
    """Answer a reactor of the call's environment and the way to its owner; raises `NotFound`."""
    with call.ledger.reading() as tx:
        row = reactor_row(tx, call.environment, name)
    return row, client_of(call.ledger, row.environment, name, patience_s=PATIENCE_S)


def state_or_none(call: Call, row: ReactorRow) -> Mapping[str, object] | None:
    """Answer what the owner says of a reactor; None when nobody answers."""
    try:
        answer = client_of(call.ledger, row.environment, row.name, patience_s=1.0).ask(op="state")
    except NoLiveHost:
        return None
    return msgspec.convert(answer["state"], dict[str, object])
