"""What can happen to a reactor. `read_event` makes an event of a list as the network and scenario files have it."""

from collections.abc import Sequence
from typing import get_args

import msgspec


class Push(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="push"):
    """A boundary (or an item of a batch or state) for a source. `offset` is its place in a replayable source.

    In a source of several lanes (the partitions of a topic) offsets count inside `lane`.
    """

    source: str
    value: object
    cid: str | None = None
    offset: int | None = None
    f: int | None = None
    d: int = 0
    lane: str | None = None


class Skip(msgspec.Struct, frozen=True, array_like=True, tag="skip"):
    """An event of a stream that gave no boundary."""

    source: str
    offset: int
    cid: str | None = None
    lane: str | None = None


class UndecodableEvent(msgspec.Struct, frozen=True, array_like=True, tag="undecodable"):
    """An event that could not be decoded (`raw`: as it came); without an offset it came by a socket."""

    source: str
    offset: int | None
    error: str
    cid: str | None = None
    lane: str | None = None
    raw: str | None = None


class Flush(msgspec.Struct, frozen=True, array_like=True, tag="flush"):
    """A batch is to emit what it holds."""

    source: str


class Polled(msgspec.Struct, frozen=True, array_like=True, tag="polled"):
    """A poll came back: with a boundary, with nothing, or with an error."""

    source: str
    value: object = None
    error: str | None = None


class Accumulator(msgspec.Struct, frozen=True, array_like=True, tag="acc"):
    """An accumulator ``started``, ``connected``, ``lost`` its source or ``crashed``."""

    source: str
    what: str
    error: str | None = None


class Begin(msgspec.Struct, frozen=True, array_like=True, tag="start"):
    """A life begins."""


class ReactorCrashed(msgspec.Struct, frozen=True, array_like=True, tag="reactor_crashed"):
    """The reactor's own code failed."""

    error: str | None = None


class Journal(msgspec.Struct, frozen=True, array_like=True, tag="journal"):
    """The journal can, or cannot, be written."""

    ok: bool


class Tick(msgspec.Struct, frozen=True, array_like=True, tag="tick"):
    """A deadline may have come."""


class Shutdown(msgspec.Struct, frozen=True, array_like=True, tag="shutdown"):
    """Stop, firing on for at most `drain`."""

    drain: int = 0


class Done(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="done"):
    """A graph of a fire reported."""

    fire: int
    attempt: int
    graph: str
    ok: bool
    error: str | None = None


class Bind(msgspec.Struct, frozen=True, array_like=True, tag="bind"):
    """A graph joins, from the next fire on."""

    graph: str
    cid: str | None = None


class Unbind(msgspec.Struct, frozen=True, array_like=True, tag="unbind"):
    """A graph leaves, from the next fire on."""

    graph: str
    cid: str | None = None


class Ask(msgspec.Struct, frozen=True, array_like=True, tag="cmd"):
    """A command; its answer carries `cid`."""

    cid: str | None
    name: str
    arg: object = None


class WantEvent(msgspec.Struct, frozen=True, array_like=True, tag="want"):
    """A Sink that has freshness `f` wants newer."""

    f: int


class TargetEvent(msgspec.Struct, frozen=True, array_like=True, tag="target"):
    """A Sink wants freshness `f`."""

    f: int


class PondRun(msgspec.Struct, frozen=True, array_like=True, tag="pond"):
    """A Pond source completed a Run of freshness `f`; `ref` names its snapshot."""

    source: str
    f: int
    ref: object
    d: int = 0


class Blocked(msgspec.Struct, frozen=True, array_like=True, tag="blocked"):
    """A Pond source is blocked."""

    source: str


class Unblocked(msgspec.Struct, frozen=True, array_like=True, tag="unblocked"):
    """A Pond source is not blocked any more."""

    source: str


Event = (
    Push
    | Skip
    | UndecodableEvent
    | Flush
    | Polled
    | Accumulator
    | Begin
    | ReactorCrashed
    | Journal
    | Tick
    | Shutdown
    | Done
    | Bind
    | Unbind
    | Ask
    | WantEvent
    | TargetEvent
    | PondRun
    | Blocked
    | Unblocked
)

EVENTS: tuple[type[Event], ...] = get_args(Event)
_LONGEST = {cls.__struct_config__.tag: len(cls.__struct_fields__) for cls in EVENTS}


def read_event(given: object) -> Event | None:
    """Give the event that a list like `["push", "a", 7]` is; None when it is none: unknown, too short, too long."""
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        return None
    kind = given[0]
    if not isinstance(kind, str) or len(given) - 1 > _LONGEST.get(kind, -1):
        return None
    try:
        event: Event = msgspec.convert(given, Event)
    except msgspec.ValidationError:
        return None
    return event


def is_well_formed(event: msgspec.Struct) -> bool:
    """Do all fields have the types that they are declared with? A struct does not check what it is made of."""
    try:
        given = (event.__struct_config__.tag, *msgspec.structs.astuple(event))
        msgspec.convert(given, type(event))
    except (msgspec.ValidationError, TypeError):
        return False
    return True
