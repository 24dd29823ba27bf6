"""Asks that tell a Pond something: triggers and verbs. Each answers how the Pond is now."""

from __future__ import annotations

from typing import Literal

from pondage.cli.asks.looking import status
from pondage.cli.client.desk import asks
from pondage.cli.client.session import Session
from pondage.define.values.duration import parsed_duration
from pondage.define.values.names import PondKey, checked_name
from pondage.kernel.demand import events
from pondage.kernel.demand.events import Event
from pondage.kernel.demand.state import Pacing
from pondage.ledger.act.verbs import send
from pondage.ledger.tables.history import Caller, this_person
from pondage.views.ponds.status import StatusView


def _told(here: Session, event: Event, note: str = "") -> StatusView:
    send(here.ledger, here.environment, event, by=Caller(this_person().who, note))
    return status.here(here, ponds=event.pond)


@asks("POST /v1/ponds/{pond}/tap")
def tap(here: Session, *, pond: str) -> StatusView:
    """Pull once."""
    return _told(here, events.Tap(pond=PondKey(pond)))


@asks("POST /v1/ponds/{pond}/pulse")
def pulse(here: Session, *, pond: str, at: int | None = None) -> StatusView:
    """Be as fresh as a moment, else as now."""
    return _told(here, events.Pulse(pond=PondKey(pond), at=at))


@asks("POST /v1/ponds/{pond}/wave")
def wave(here: Session, *, pond: str, pacing: Literal["eager", "just-in-time"]) -> StatusView:
    """Pull again and again."""
    chosen = Pacing.EAGER if pacing == "eager" else Pacing.JUST_IN_TIME
    return _told(here, events.Wave(pond=PondKey(pond), pacing=chosen))


@asks("POST /v1/ponds/{pond}/tide")
def tide(here: Session, *, pond: str, limit: str, name: str) -> StatusView:
    """Never be staler than a limit."""
    length = parsed_duration(limit, what="limit")
    return _told(here, events.Tide(pond=PondKey(pond), limit=length, name=checked_name(name, what="Tide")))


@asks("POST /v1/ponds/{pond}/calm")
def calm(here: Session, *, pond: str, name: str | None) -> StatusView:
    """Take a Wave or Tides away."""
    return _told(here, events.Calm(pond=PondKey(pond), name=name))


@asks("POST /v1/ponds/{pond}/clear")
def clear(here: Session, *, pond: str) -> StatusView:
    """Acknowledge a failure or a kill."""
    return _told(here, events.Clear(pond=PondKey(pond)))


@asks("POST /v1/ponds/{pond}/wake")
def wake(here: Session, *, pond: str) -> StatusView:
    """Clear; run if the Sources are ahead."""
    return _told(here, events.Wake(pond=PondKey(pond)))


@asks("POST /v1/ponds/{pond}/force")
def force(here: Session, *, pond: str, full: bool = False, note: str = "") -> StatusView:
    """Clear, and run once even if nothing is new."""
    return _told(here, events.Force(pond=PondKey(pond), full=full), note)


@asks("POST /v1/ponds/{pond}/kill")
def kill(here: Session, *, pond: str, note: str = "") -> StatusView:
    """Stop at once and block the Sinks."""
    return _told(here, events.Kill(pond=PondKey(pond)), note)


@asks("POST /v1/ponds/{pond}/sleep")
def sleep(here: Session, *, pond: str, upstream: bool) -> StatusView:
    """Forget demand and triggers."""
    return _told(here, events.Sleep(pond=PondKey(pond), upstream=upstream))
