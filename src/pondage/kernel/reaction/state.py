"""A living reactor: its durable facts, and what a crash may take: health, timers, parked pushes, what was said last."""

from collections import deque
from enum import StrEnum

from pondage.kernel.reaction.apply import APPLY
from pondage.kernel.reaction.effects import Effect, Log, Reply
from pondage.kernel.reaction.events import Push
from pondage.kernel.reaction.facts import Facts, SourceFacts, new_facts
from pondage.kernel.reaction.records import AnyRecord
from pondage.kernel.reaction.shape import Gate, ReactorShape, SourceShape


class Condition(StrEnum):
    """The states of a reactor."""

    STARTING = "Starting"
    WARMING = "Warming"
    LIVE = "Live"
    DEGRADED = "Degraded"
    FAILED = "Failed"
    STOPPING = "Stopping"
    STOPPED = "Stopped"


class SourceCondition(StrEnum):
    """The states of an accumulator: the document's five, and Crashed (a restart is pending) and Failed."""

    STARTING = "Starting"
    CONNECTING = "Connecting"
    LIVE = "Live"
    DISCONNECTED = "Disconnected"
    SOCKET_ONLY = "SocketOnly"
    CRASHED = "Crashed"
    FAILED = "Failed"


HEALTHY = frozenset({SourceCondition.LIVE, SourceCondition.SOCKET_ONLY})
DOWN = frozenset({SourceCondition.STARTING, SourceCondition.CRASHED, SourceCondition.FAILED})
RUNNING = frozenset({Condition.WARMING, Condition.LIVE, Condition.DEGRADED, Condition.STOPPING})

Timer = tuple[str, str]
"""What a timer is for, and for which source (or "")."""


class SourceLife:
    """The volatile part of a source, with its shape and its facts beside it."""

    __slots__ = (
        "dup",
        "facts",
        "health",
        "heard_at",
        "is_blocked",
        "is_flush_due",
        "is_polling",
        "is_silent",
        "is_throttled",
        "lost",
        "name",
        "parked",
        "rejected",
        "shape",
    )

    def __init__(self, shape: SourceShape, facts: SourceFacts) -> None:
        self.name = shape.name
        self.shape = shape
        self.facts = facts
        self.health = SourceCondition.STARTING
        self.parked: deque[Push] = deque()
        self.is_throttled = False
        self.is_silent = False
        self.is_polling = False
        self.is_blocked = False
        self.is_flush_due = False
        self.heard_at = 0
        self.lost = 0
        self.rejected = 0
        self.dup = 0


class State:
    """A reactor between two steps. `out` and `now` belong to the step that is being made."""

    __slots__ = (
        "condition",
        "facts",
        "failing",
        "flushes_on_fire",
        "has_ponds",
        "has_room",
        "is_careful",
        "is_draining",
        "is_durable",
        "is_gated",
        "is_health_due",
        "is_journal_ok",
        "last_said",
        "looks_bad",
        "next_at",
        "now",
        "out",
        "plan_size",
        "shape",
        "sources",
        "started_fire",
        "timers",
        "unhealthy",
    )

    def __init__(self, shape: ReactorShape, facts: Facts | None = None) -> None:
        self.shape = shape
        self.now = 0
        self.out: list[Effect] = []
        self.is_journal_ok = True
        self.failing = shape.failing
        self.is_durable = shape.is_durable
        self.is_gated = shape.gate is Gate.DEMAND
        self.plan_size = shape.plan_size
        self.has_ponds = shape.has_ponds
        self.flushes_on_fire = any(source.flush_on_fire for source in shape.sources.values())
        self.begin_life(new_facts(shape) if facts is None else facts)

    def begin_life(self, facts: Facts) -> None:
        """Forget everything volatile: these facts are what is known."""
        self.facts = facts
        self.sources = {name: SourceLife(shape, facts.sources[name]) for name, shape in self.shape.sources.items()}
        self.condition = Condition.STARTING
        self.unhealthy: list[str] = []
        self.last_said: tuple[Condition, list[str]] | None = None
        self.looks_bad: bool | None = None
        self.is_draining = False
        self.is_careful = facts.fire is not None or bool(facts.plan)
        self.has_room = False
        self.is_health_due = True
        self.started_fire: int | None = None
        self.timers: dict[Timer, int] = {}
        self.next_at: int | None = None

    def rebind(self, shape: ReactorShape) -> None:
        """Go on with functions of another deploy; which graphs are bound is said by events."""
        self.shape = shape
        for name, source in self.sources.items():
            source.shape = shape.sources[name]

    def record(self, record: AnyRecord) -> None:
        """Make a durable change: the record goes to the journal and changes the facts, here as in every fold."""
        if self.is_durable:
            self.out.append(Log(record))
        APPLY[type(record)](self.shape, self.facts, record)

    def reply(self, cid: str | None, payload: dict[str, object]) -> None:
        """Answer, when somebody waits for an answer."""
        if cid is not None:
            self.out.append(Reply(cid, payload))

    def arm(self, what: str, source: str, at: int) -> None:
        """Set a timer, or set it anew."""
        self.timers[what, source] = at
        self.next_at = min(self.timers.values())

    def disarm(self, what: str, source: str = "") -> None:
        """Take a timer away."""
        if self.timers.pop((what, source), None) is not None:
            self.next_at = min(self.timers.values(), default=None)


def new_state(shape: ReactorShape, facts: Facts | None = None) -> State:
    """Give a reactor before its first event: from nothing, or from recovered facts (which it then owns)."""
    return State(shape, facts)


def durable(state: State) -> Facts:
    """Give the durable facts; after every step they equal the fold of all records."""
    return state.facts


def next_deadline(state: State) -> int | None:
    """Give the time of the next tick: the only timer that a host needs (rule H6)."""
    return state.next_at


def backoff(base: int, failures: int, cap: int) -> int:
    """Give the wait after so many failures in a row: `base` doubled each time, up to `cap`."""
    return min(base << min(failures - 1, 62), cap)


def restart_wait(second: int, crashes: int) -> int:
    """Give the wait before the n-th restart: 1, 2, 4, ... up to 60 seconds."""
    return backoff(second, crashes, 60 * second)
