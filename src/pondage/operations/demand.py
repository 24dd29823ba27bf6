"""Telling a Pond something: triggers and verbs. Each is one event, settled at once, and answers how the Pond is now."""

from __future__ import annotations

from typing import Literal

from pondage.define.pond.definition import FollowDefinition
from pondage.define.pond.trigger import checked_follow
from pondage.define.values.duration import parsed_duration
from pondage.define.values.names import PondKey, checked_name
from pondage.errors import NotFound
from pondage.kernel.demand import events
from pondage.kernel.demand.events import Event
from pondage.kernel.demand.state import Pacing
from pondage.ledger.act.verbs import send
from pondage.ledger.tables.pond_shape import follow_of
from pondage.operations.operation import Context, Level, Moment, NotedRequest, operation
from pondage.views import find
from pondage.views.ponds.status import StatusView
from pondage.views.ponds.status import status as read_status
from pondage.views.words import list_text


class PondRequest(NotedRequest, frozen=True, kw_only=True):
    """Which Pond: `sales` or `sales@2`."""

    pond: str


class PulseRequest(PondRequest, frozen=True, kw_only=True):
    """Be as fresh as `at` (microseconds), else as now."""

    at: Moment | None = None


class FollowRequest(PondRequest, frozen=True, kw_only=True):
    """Whether a trigger asks only `while_read`, on the clock of `tz`: while somebody reads or is expected.

    One is expected who came in a share of at least `sure` of the weeks. It is awake for its first week, unless
    `resting`.
    """

    while_read: bool = False
    tz: str = "UTC"
    sure: float = 0.3
    resting: bool = False

    @property
    def follow(self) -> events.Follow | None:
        """Answer how the machine is told; raises `DefinitionError` for a zone or a share that is none."""
        if not self.while_read:
            return None
        return follow_of(checked_follow(FollowDefinition(tz=self.tz, sure=self.sure, is_resting=self.resting)))


class WaveRequest(FollowRequest, frozen=True, kw_only=True):
    """How a Wave paces its Inlets, and whether it follows its readers."""

    pacing: Literal["eager", "just-in-time"] = "eager"


class TideRequest(FollowRequest, frozen=True, kw_only=True):
    """The limit (`15m`) and the name of a Tide, and whether it follows its readers."""

    limit: str
    name: str = "tide"


class CalmRequest(PondRequest, frozen=True, kw_only=True):
    """Only the Tide of this name."""

    name: str | None = None


class TriggerRequest(PondRequest, frozen=True, kw_only=True):
    """The name of a standing trigger; none: all of the Pond's."""

    name: str | None = None


class SleepRequest(PondRequest, frozen=True, kw_only=True):
    """Whether everything above sleeps, too."""

    upstream: bool = False


class ForceRequest(PondRequest, frozen=True, kw_only=True):
    """Whether everything is computed anew, and not only what changed."""

    full: bool = False


def _key(context: Context, name: str) -> PondKey:
    with context.ledger.reading() as tx:
        return PondKey(find.pond(tx, find.environment_id(tx, context.environment), name).key)


def _told(context: Context, event: Event, *, detail: str = "") -> StatusView:
    send(context.ledger, context.environment, event, detail=detail, by=context.by)
    with context.ledger.reading() as tx:
        return read_status(tx, context.ledger, context.environment, keys=[event.pond])


def _to_triggers(context: Context, asked: TriggerRequest, make: type[events.Pause] | type[events.Resume]) -> StatusView:
    pond = _key(context, asked.pond)
    with context.ledger.reading() as tx:
        now = read_status(tx, context.ledger, context.environment, keys=[pond]).pond(pond)
    names = [] if now is None else [each.name for each in now.triggers]
    if not names or asked.name not in (None, *names):
        called = "" if asked.name is None else f" called {asked.name!r}"
        raise NotFound(
            f"{pond} has no standing trigger{called}",
            hint=f"it has {list_text(names)}" if names else f"pondage wave {pond}",
            code="NO_TRIGGER",
        )
    return _told(context, make(pond=pond, name=asked.name), detail=asked.name or "")


@operation("POST /v1/ponds/{pond}/tap", Level.DEMAND, PondRequest)
def tap(context: Context, asked: PondRequest) -> StatusView:
    """Pull once: take what the Sources have."""
    return _told(context, events.Tap(pond=_key(context, asked.pond)))


@operation("POST /v1/ponds/{pond}/pulse", Level.DEMAND, PulseRequest)
def pulse(context: Context, asked: PulseRequest) -> StatusView:
    """Be as fresh as now."""
    return _told(context, events.Pulse(pond=_key(context, asked.pond), at=asked.at))


@operation("POST /v1/ponds/{pond}/wave", Level.DEMAND, WaveRequest)
def wave(context: Context, asked: WaveRequest) -> StatusView:
    """Pull again and again, until calmed."""
    pacing = Pacing.EAGER if asked.pacing == "eager" else Pacing.JUST_IN_TIME
    return _told(context, events.Wave(pond=_key(context, asked.pond), pacing=pacing, follow=asked.follow))


@operation("POST /v1/ponds/{pond}/tide", Level.DEMAND, TideRequest)
def tide(context: Context, asked: TideRequest) -> StatusView:
    """Never be staler than a limit, until calmed."""
    pond = _key(context, asked.pond)
    limit = parsed_duration(asked.limit, what="limit")
    name = checked_name(asked.name, what="Tide")
    return _told(context, events.Tide(pond=pond, limit=limit, name=name, follow=asked.follow))


@operation("POST /v1/ponds/{pond}/calm", Level.DEMAND, CalmRequest)
def calm(context: Context, asked: CalmRequest) -> StatusView:
    """Take a Wave or Tides away."""
    return _told(context, events.Calm(pond=_key(context, asked.pond), name=asked.name))


@operation("POST /v1/ponds/{pond}/pause", Level.OPERATE, TriggerRequest)
def pause(context: Context, asked: TriggerRequest) -> StatusView:
    """Let a standing trigger ask for nothing."""
    return _to_triggers(context, asked, events.Pause)


@operation("POST /v1/ponds/{pond}/resume", Level.OPERATE, TriggerRequest)
def resume(context: Context, asked: TriggerRequest) -> StatusView:
    """Let a standing trigger ask again."""
    return _to_triggers(context, asked, events.Resume)


@operation("POST /v1/ponds/{pond}/clear", Level.OPERATE, PondRequest)
def clear(context: Context, asked: PondRequest) -> StatusView:
    """Acknowledge a failure or a kill."""
    return _told(context, events.Clear(pond=_key(context, asked.pond)))


@operation("POST /v1/ponds/{pond}/kill", Level.OPERATE, PondRequest)
def kill(context: Context, asked: PondRequest) -> StatusView:
    """Stop at once and block the Sinks."""
    return _told(context, events.Kill(pond=_key(context, asked.pond)))


@operation("POST /v1/ponds/{pond}/wake", Level.OPERATE, PondRequest)
def wake(context: Context, asked: PondRequest) -> StatusView:
    """Clear; run if the Sources are ahead."""
    return _told(context, events.Wake(pond=_key(context, asked.pond)))


@operation("POST /v1/ponds/{pond}/sleep", Level.OPERATE, SleepRequest)
def sleep(context: Context, asked: SleepRequest) -> StatusView:
    """Forget demand and triggers."""
    return _told(context, events.Sleep(pond=_key(context, asked.pond), upstream=asked.upstream))


@operation("POST /v1/ponds/{pond}/force", Level.OPERATE, ForceRequest)
def force(context: Context, asked: ForceRequest) -> StatusView:
    """Clear, and run once even if nothing is new."""
    return _told(context, events.Force(pond=_key(context, asked.pond), full=asked.full))
