"""The records of a reactor's journal. Their tags are the letters of the specification; each is one durable change."""

import msgspec

from pondage.kernel.reaction.facts import Command, Facts


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What all records have in common: nothing but being one."""


class Boundary(Record, frozen=True, array_like=True, gc=False, tag="b"):
    """A boundary was accepted, with its offset; `cleared` items of the batch went into it."""

    source: str
    arrival: int
    seq: int
    f: int
    d: int
    value: object
    offset: int | None = None
    cleared: int = 0
    lane: str | None = None


class StateItem(Record, frozen=True, array_like=True, gc=False, tag="w"):
    """An item went into a state's window; a window of 0 emits no boundary (then `seq` is 0)."""

    source: str
    arrival: int
    seq: int
    f: int
    d: int
    value: object
    offset: int | None = None
    lane: str | None = None


class BatchItem(Record, frozen=True, array_like=True, gc=False, tag="u"):
    """An item went into a batch's buffer."""

    source: str
    f: int
    d: int
    at: int
    value: object
    offset: int | None = None
    lane: str | None = None


class Offset(Record, frozen=True, array_like=True, gc=False, tag="o"):
    """An event gave no boundary: only the offset moved."""

    source: str
    offset: int
    lane: str | None = None


class Undecodable(Record, frozen=True, array_like=True, gc=False, tag="d"):
    """An event of a stream could not be decoded: a dead letter with what came (`raw`), and the offset."""

    source: str
    offset: int
    error: str
    at: int
    lane: str | None = None
    raw: str | None = None


class Spoiled(Record, frozen=True, array_like=True, gc=False, tag="e"):
    """What came of a batch's items cannot be kept: they (`raw`) are a dead letter, and the batch begins anew."""

    source: str
    letter: str
    error: str
    at: int
    cleared: int
    raw: str


class Overflow(Record, frozen=True, array_like=True, gc=False, tag="x"):
    """The oldest waiting boundary was dropped by the declared policy."""

    source: str


class Start(Record, frozen=True, array_like=True, gc=False, tag="s"):
    """A fire started: its id is bound to what it consumes and, by the state at this record, to its inputs."""

    id: int
    attempt: int
    kind: str
    reason: str
    consumes: dict[str, int]
    graphs: list[str]
    at: int
    done: list[str] = []
    unhealthy: list[str] = []
    cid: str | None = None
    is_kept: bool = False


class Plan(Record, frozen=True, array_like=True, gc=False, tag="S"):
    """Consecutive fires were pinned, and the first one started."""

    id: int
    reason: str
    consumes: list[dict[str, int]]
    graphs: list[str]
    at: int
    unhealthy: list[str] = []


class Launch(Record, frozen=True, array_like=True, gc=False, tag="l"):
    """The next fire of the plan started."""

    id: int
    attempt: int
    reason: str
    graphs: list[str]
    at: int
    unhealthy: list[str] = []
    kind: str = "auto"
    cid: str | None = None


class Again(Record, frozen=True, array_like=True, gc=False, tag="y"):
    """A new life runs these graphs of the open fire once more."""

    id: int
    attempt: int
    graphs: list[str]
    at: int


class GraphDone(Record, frozen=True, array_like=True, gc=False, tag="g"):
    """One of several graphs reported."""

    graph: str
    error: str | None = None


class Commit(Record, frozen=True, array_like=True, gc=False, tag="c"):
    """The open fire ended for good: ``ok``, ``dropped`` or ``dead``."""

    id: int
    attempt: int
    outcome: str
    at: int
    error: str | None = None
    is_derivable: bool = False


class Failure(Record, frozen=True, array_like=True, gc=False, tag="f"):
    """The attempt failed and consumed nothing. `done` are the graphs that had succeeded."""

    id: int
    attempt: int
    error: str
    at: int
    done: list[str]
    tries: int
    retry_at: int | None = None
    is_halted: bool = False


class Accepted(Record, frozen=True, array_like=True, gc=False, tag="k"):
    """A command was accepted and waits for its fire."""

    command: Command


class Refused(Record, frozen=True, array_like=True, gc=False, tag="kx"):
    """A command that had been accepted is refused."""

    cid: str | None
    error: str


class Hold(Record, frozen=True, array_like=True, gc=False, tag="m"):
    """Automatic starts are held or go on."""

    hold: str | None
    clears_failure: bool = False


class Recovery(Record, frozen=True, array_like=True, gc=False, tag="r"):
    """The recovery count of a source, or (None) of the reactor."""

    source: str | None
    attempts: int


class Failed(Record, frozen=True, array_like=True, gc=False, tag="F"):
    """A source, or (None) the reactor, failed for good."""

    source: str | None


class Revived(Record, frozen=True, array_like=True, gc=False, tag="v"):
    """Everything that had failed starts again, with fresh counts."""


class Passed(Record, frozen=True, array_like=True, gc=False, tag="p"):
    """The freshness moved without a fire."""

    f: int


class Published(Record, frozen=True, array_like=True, gc=False, tag="P"):
    """What committed fires left waiting was published."""


class Want(Record, frozen=True, array_like=True, gc=False, tag="n"):
    """Somebody who has freshness `f` wants newer."""

    f: int


class Target(Record, frozen=True, array_like=True, gc=False, tag="t"):
    """Somebody wants freshness `f`."""

    f: int


class DemandDropped(Record, frozen=True, array_like=True, gc=False, tag="z"):
    """All demand was dropped."""


class Graphs(Record, frozen=True, array_like=True, gc=False, tag="G"):
    """The graphs that are bound."""

    graphs: list[str]


class Full(Record, frozen=True, array_like=True, gc=False, tag="full"):
    """The full state: what came before is not needed any more."""

    facts: Facts


AnyRecord = (
    Boundary
    | StateItem
    | BatchItem
    | Offset
    | Undecodable
    | Spoiled
    | Overflow
    | Start
    | Plan
    | Launch
    | Again
    | GraphDone
    | Commit
    | Failure
    | Accepted
    | Refused
    | Hold
    | Recovery
    | Failed
    | Revived
    | Passed
    | Published
    | Want
    | Target
    | DemandDropped
    | Graphs
    | Full
)

_decoder = msgspec.json.Decoder(list[AnyRecord])


def encode_records(records: list[AnyRecord]) -> bytes:
    """Give records as one JSON blob, as a group commit keeps them."""
    return msgspec.json.encode(records)


def decode_records(text: bytes) -> list[AnyRecord]:
    """Give the records of a blob; raises msgspec.ValidationError when it is none."""
    return _decoder.decode(text)


def is_derivable(record: AnyRecord) -> bool:
    """Could a fold work this record out from the plan? Then a planned start need not wait for it (rule H2)."""
    kind = type(record)
    return kind is Launch or (kind is Commit and record.is_derivable)  # type: ignore[union-attr]
