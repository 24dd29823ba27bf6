"""Routes that tell a Pond something: triggers and verbs. Each is one event, settled at once, with an audit row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

import msgspec

from pondage.define.values.duration import parsed_duration
from pondage.define.values.names import PondKey, checked_name
from pondage.kernel.demand import events
from pondage.kernel.demand.events import Event
from pondage.kernel.demand.state import Pacing
from pondage.ledger.act.verbs import send
from pondage.server.levels import Level
from pondage.server.reactors import Note
from pondage.server.table import Call, Moment, Route
from pondage.views import find
from pondage.views.ponds.status import StatusView, status


class Plain(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why it is done, for the audit."""

    note: Note = ""


class PulseBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Be as fresh as `at` (microseconds), else as now."""

    at: Moment | None = None


class WaveBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a Wave paces its Inlets."""

    pacing: Literal["eager", "just-in-time"] = "eager"


class TideBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limit (`15m`) and the name of a Tide."""

    limit: str
    name: str = "tide"


class CalmBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Only the Tide of this name."""

    name: str | None = None


class SleepBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether everything above sleeps, too."""

    upstream: bool = False


class ForceBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether everything is computed anew, and not only what changed."""

    full: bool = False


Body = TypeVar("Body", bound=Plain)


def _verb(name: str, level: Level, body: type[Body], make: Callable[[PondKey, Body], Event], summary: str) -> Route:
    def handler(call: Call) -> StatusView:
        sent = call.sent(body)
        with call.ledger.reading() as tx:
            key = find.pond(tx, find.environment_id(tx, call.environment), call.path["pond"]).key
        send(call.ledger, call.environment, make(PondKey(key), sent), by=call.by(sent.note))
        with call.ledger.reading() as tx:
            return status(tx, call.environment, keys=[key])

    return Route(
        method="POST",
        path=f"/v1/ponds/{{pond}}/{name}",
        level=level,
        handler=handler,
        request=body,
        response=StatusView,
        summary=summary,
    )


def _tide(pond: PondKey, sent: TideBody) -> Event:
    limit = parsed_duration(sent.limit, what="limit")
    return events.Tide(pond=pond, limit=limit, name=checked_name(sent.name, what="Tide"))


def _wave(pond: PondKey, sent: WaveBody) -> Event:
    return events.Wave(pond=pond, pacing=Pacing.EAGER if sent.pacing == "eager" else Pacing.JUST_IN_TIME)


ROUTES = (
    _verb("tap", Level.DEMAND, Plain, lambda pond, _: events.Tap(pond=pond), "Pull once: take what the Sources have."),
    _verb(
        "pulse", Level.DEMAND, PulseBody, lambda pond, sent: events.Pulse(pond=pond, at=sent.at), "Be as fresh as now."
    ),
    _verb("wave", Level.DEMAND, WaveBody, _wave, "Pull again and again, until calmed."),
    _verb("tide", Level.DEMAND, TideBody, _tide, "Never be staler than a limit, until calmed."),
    _verb(
        "calm",
        Level.DEMAND,
        CalmBody,
        lambda pond, sent: events.Calm(pond=pond, name=sent.name),
        "Take a Wave or Tides away.",
    ),
    _verb("clear", Level.OPERATE, Plain, lambda pond, _: events.Clear(pond=pond), "Acknowledge a failure or a kill."),
    _verb("kill", Level.OPERATE, Plain, lambda pond, _: events.Kill(pond=pond), "Stop at once and block the Sinks."),
    _verb("wake", Level.OPERATE, Plain, lambda pond, _: events.Wake(pond=pond), "Clear; run if the Sources are ahead."),
    _verb(
        "sleep",
        Level.OPERATE,
        SleepBody,
        lambda pond, sent: events.Sleep(pond=pond, upstream=sent.upstream),
        "Forget demand and triggers.",
    ),
    _verb(
        "force",
        Level.OPERATE,
        ForceBody,
        lambda pond, sent: events.Force(pond=pond, full=sent.full),
        "Clear, and run once even if nothing is new.",
    ),
)
