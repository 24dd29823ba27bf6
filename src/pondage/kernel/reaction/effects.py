"""What a host must do. Effects come in order; one is performed only when every record before it is durable (H1)."""

import msgspec

from pondage.kernel.reaction.records import AnyRecord


class Log(msgspec.Struct, frozen=True, gc=False):
    """Write this record to the journal."""

    record: AnyRecord


class StartFire(msgspec.Struct, frozen=True, gc=False):
    """Run these graphs. An `is_early` start may run while all pending records are derivable (H2)."""

    fire: int
    attempt: int
    graphs: list[str]
    inputs: dict[str, object]
    reason: str
    unhealthy: list[str]
    is_early: bool


class CancelFire(msgspec.Struct, frozen=True):
    """Stop these graphs; `numbers` are the attempts (or dispatch numbers) under which they run."""

    fire: int
    attempt: int
    graphs: list[str]
    numbers: list[int]


class Fired(msgspec.Struct, frozen=True, gc=False):
    """An attempt ended: ``ok``, ``failed``, ``dropped`` or ``dead``."""

    fire: int
    attempt: int
    outcome: str
    error: str | None = None


class Reply(msgspec.Struct, frozen=True, gc=False):
    """Answer whoever sent `cid`."""

    cid: str
    payload: dict[str, object]


class Health(msgspec.Struct, frozen=True):
    """The reactor's state, and who is waited for or unhealthy."""

    state: str
    sources: list[str]


class SourceHealth(msgspec.Struct, frozen=True):
    """An accumulator's state."""

    source: str
    health: str


class RecoveryNote(msgspec.Struct, frozen=True):
    """A component (None: the reactor) crashed for the n-th time; a backoff of None means that it failed."""

    component: str | None
    attempt: int
    backoff: int | None


class Held(msgspec.Struct, frozen=True):
    """Automatic starts are held (``paused``, ``halted``) or go on (None)."""

    hold: str | None


class StartSource(msgspec.Struct, frozen=True):
    """Start an accumulator: a new incarnation of it."""

    source: str


class StopSource(msgspec.Struct, frozen=True):
    """Stop an accumulator; what it still pushes is dropped (H4)."""

    source: str


class Connect(msgspec.Struct, frozen=True):
    """Connect an accumulator to its outside source, reading after `offset`, or in each lane after that of `lanes`."""

    source: str
    offset: int | None
    lanes: dict[str, int] = {}


class Poll(msgspec.Struct, frozen=True):
    """Poll once."""

    source: str


class Throttle(msgspec.Struct, frozen=True):
    """Ask the producer of a source to wait, or to go on."""

    source: str
    on: bool


class Publish(msgspec.Struct, frozen=True):
    """The Pond has this freshness now, by this fire (None: a pass, or said again)."""

    f: int
    d: int
    fire: int | None


class PondFailed(msgspec.Struct, frozen=True):
    """The Pond is blocked, or not any more."""

    on: bool


class DropDemand(msgspec.Struct, frozen=True):
    """The Pond's Sinks are told that their demand was dropped."""


class WantPond(msgspec.Struct, frozen=True):
    """Tell a Pond source what was taken: newer is wanted."""

    source: str
    f: int


class TargetPond(msgspec.Struct, frozen=True):
    """Tell a Pond source which freshness is wanted."""

    source: str
    f: int


class Stopped(msgspec.Struct, frozen=True):
    """The reactor has stopped; this life ends."""


class RefusedEvent(msgspec.Struct, frozen=True):
    """The event was none that this reactor knows: nothing happened."""

    error: str


Effect = (
    Log
    | StartFire
    | CancelFire
    | Fired
    | Reply
    | Health
    | SourceHealth
    | RecoveryNote
    | Held
    | StartSource
    | StopSource
    | Connect
    | Poll
    | Throttle
    | Publish
    | PondFailed
    | DropDemand
    | WantPond
    | TargetPond
    | Stopped
    | RefusedEvent
)
