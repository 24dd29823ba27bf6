"""Asks about reactors, and of the live hosts that own them."""

from __future__ import annotations

from collections.abc import Iterator

from pondage.cli.client.desk import asks, streams
from pondage.cli.client.session import Session
from pondage.engine.live.client import LiveClient, client_of
from pondage.views.reactors.reactors import HistoryLine, ReactorView, reactor_history, reactor_list, reactor_row


@asks("GET /v1/reactors")
def reactors(here: Session) -> list[ReactorView]:
    """Ask for every deployed reactor."""
    with here.ledger.reading() as tx:
        return reactor_list(tx, here.environment)


@asks("GET /v1/reactors/{reactor}/history")
def history(here: Session, *, reactor: str, limit: int) -> list[HistoryLine]:
    """Ask what happened to a reactor."""
    with here.ledger.reading() as tx:
        return reactor_history(tx, reactor_row(tx, here.environment, reactor), limit=limit)


@asks("GET /v1/reactors/{reactor}/state")
def state(here: Session, *, reactor: str) -> object:
    """Ask what a reactor knows."""
    return _owner(here, reactor, 10.0).ask(op="state")["state"]


@asks("GET /v1/reactors/{reactor}/dead")
def dead(here: Session, *, reactor: str) -> list[dict[str, object]]:
    """Ask for dead letters."""
    found = _owner(here, reactor, 10.0).ask(op="dead")["dead"]
    assert isinstance(found, list)
    return found


@asks("POST /v1/reactors/{reactor}/sources/{source}", kept=("patience_s",))
def push(here: Session, *, reactor: str, source: str, value: object, patience_s: float) -> dict[str, object]:
    """Push a value; answered when it is durable."""
    return _owner(here, reactor, patience_s).ask(op="push", source=source, value=value)


@asks("POST /v1/reactors/{reactor}/commands", kept=("patience_s",))
def command(
    here: Session, *, reactor: str, command: str, arg: object, cid: str, patience_s: float
) -> dict[str, object]:
    """Give a command under an id of its own, so that a lost answer does not do it twice."""
    answer = _owner(here, reactor, patience_s).ask(op="command", command=command, arg=arg, cid=cid)
    reply = answer.get("reply", answer)
    assert isinstance(reply, dict)
    return reply


@streams("/v1/ws/reactors/{reactor}")
def watch(here: Session, *, reactor: str) -> Iterator[dict[str, object]]:
    """Follow health and fires."""
    yield from _owner(here, reactor, 10.0).watch()


def _owner(here: Session, name: str, patience_s: float) -> LiveClient:
    with here.ledger.reading() as tx:
        row = reactor_row(tx, here.environment, name)
    return client_of(here.ledger, row.environment, name, patience_s=patience_s)
