"""The durable facts of a reactor. They change only by `apply`, so a fold of the journal's records gives them again.

Values that every event makes are not tracked by the garbage collector (`gc=False`): none can be part of a cycle.
"""

import msgspec

from pondage.kernel.reaction.shape import NEVER, NONE, ReactorShape


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A boundary. `arrival` numbers all boundaries of the reactor, `seq` those of its source."""

    arrival: int
    seq: int
    f: int
    d: int
    value: object


class Item(msgspec.Struct, frozen=True, array_like=True):
    """One item in the buffer of a batch; `at` is when it was accepted."""

    f: int
    d: int
    at: int
    value: object


class SourceFacts(msgspec.Struct):
    """One source: versions, cache, queue. `cur` is what a fire sees, `good` the last that a good fire saw.

    `offset` is the place in a source of one lane, `lanes` those in one of several: the last that moved is the last.
    """

    seen: int = 0
    consumed: int = 0
    cur: Entry | None = None
    good: Entry | None = None
    queue: list[Entry] = []
    pinned: int = 0
    offset: int | None = None
    buffer: list[Item] = []
    window: list[object] = []
    f: int = NEVER
    taken: int = NEVER
    attempts: int = 0
    dropped: int = 0
    lanes: dict[str, int] = {}


class Fire(msgspec.Struct, gc=False):
    """A fire whose id and inputs are pinned. `pending` maps each graph that runs to its number (attempt or dispatch).

    `is_kept`: a failed attempt keeps head and inputs (Sequential). `is_planned`: its start and commit are derivable.
    """

    id: int
    attempt: int
    reason: str
    consumes: dict[str, int]
    inputs: dict[str, Entry]
    pending: dict[str, int] = {}
    done: list[str] = []
    errors: dict[str, str] = {}
    unhealthy: list[str] = []
    kind: str = "auto"
    cid: str | None = None
    letter: str | None = None
    is_kept: bool = False
    is_planned: bool = False
    crashes: int = 0

    @property
    def is_manual(self) -> bool:
        """Did a command ask for it?"""
        return self.kind != "auto"


class Letter(msgspec.Struct, frozen=True):
    """A dead letter: the inputs of a fire that was given up, or an event that could not be decoded."""

    id: int | str
    inputs: dict[str, Entry]
    error: str
    at: int
    raw: str | None = None


class Command(msgspec.Struct, frozen=True):
    """A command that waits for its fire."""

    cid: str | None
    name: str
    arg: object
    at: int


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a command came to; a refused one has no fire."""

    fire: int | None = None
    outcome: str | None = None
    error: str | None = None


class Standing(msgspec.Struct, frozen=True):
    """A failed attempt whose inputs could be taken once more: they get the same id then."""

    id: int
    attempt: int
    done: list[str]


class LastFire(msgspec.Struct, frozen=True, gc=False):
    """The last fire that ended."""

    id: int
    attempt: int
    outcome: str
    at: int


class Facts(msgspec.Struct):
    """All durable facts of a reactor; `com_f` is the freshness of the last commit, `pub_f` the published one."""

    sources: dict[str, SourceFacts]
    graphs: list[str]
    arrivals: int = 0
    fire: Fire | None = None
    plan: list[Fire] = []
    fire_no: int = 0
    commands: list[Command] = []
    hold: str | None = None
    tries: int = 0
    retry_at: int | None = None
    standing: dict[str, Standing] = {}
    dead: dict[str, Letter] = {}
    outcomes: dict[str, Outcome] = {}
    com_f: int = NEVER
    com_d: int = 0
    com_fire: int | None = None
    pub_f: int = NEVER
    pub_d: int = 0
    is_bad: bool = False
    want: int = NONE
    targets: list[int] = []
    attempts: int = 0
    failed: list[str] = []
    last: LastFire | None = None
    fires: int = 0
    ok: int = 0
    bad: int = 0


ONE_MESSAGE = "#"
"""A lane whose name begins so is one message, known by its id: nothing comes behind it."""
REACTOR = ""
"""The name under which the reactor itself stands among the failed components."""


def new_facts(shape: ReactorShape) -> Facts:
    """Give the facts of a reactor that has never lived."""
    return Facts(sources={name: SourceFacts() for name in shape.sources}, graphs=list(shape.graphs))


def encode_facts(facts: Facts) -> bytes:
    """Give the facts as JSON."""
    return msgspec.json.encode(facts)


def decode_facts(text: bytes) -> Facts:
    """Give the facts that `encode_facts` wrote; raises msgspec.ValidationError when they are none."""
    return msgspec.json.decode(text, type=Facts)


def copy_facts(facts: Facts) -> Facts:
    """Give facts that share nothing that can change with these."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(facts), type=Facts)


def is_known(source: SourceFacts, offset: int | None, lane: str | None) -> bool:
    """Was this place of a replayable source taken in before?"""
    if offset is None:
        return False
    last = source.offset if lane is None else source.lanes.get(lane)
    return last is not None and offset <= last


def is_dirty(shape: ReactorShape, source: SourceFacts) -> bool:
    """Has the source something that no fire consumed yet?"""
    return bool(source.queue) if shape.is_sequential else source.seen > source.consumed
