"""What a reactor is, as the machine knows it: its sources, criteria, strategy and policies. Times have no unit here.

A host chooses the unit (the product counts microseconds, a scenario milliseconds) and gives `second` in it.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum

import msgspec

NEVER = -1
"""The freshness of what has never been."""
NONE = -2
"""No demand."""


class Kind(StrEnum):
    """How an accumulator gets its boundaries."""

    PASSTHROUGH = "passthrough"
    STREAM = "stream"
    POLLING = "polling"
    BATCH = "batch"
    STATE = "state"
    POND = "pond"


class Policy(StrEnum):
    """What happens to a push that finds no room."""

    BLOCK = "block"
    REJECT = "reject"
    DROP_OLDEST = "drop_oldest"


class Criteria(StrEnum):
    """When a reactor fires."""

    ANY = "any"
    ALL = "all"


class Strategy(StrEnum):
    """What a fire takes: the newest of each source, or one boundary after the other."""

    LATEST = "latest"
    SEQUENTIAL = "sequential"


class Failing(StrEnum):
    """What happens to a fire that failed."""

    DROP = "drop"
    RETRY = "retry"
    DEAD_LETTER = "dead_letter"
    HALT = "halt"


class Gate(StrEnum):
    """Whether the criteria alone make a reactor fire, or only together with demand for its Pond."""

    NONE = "none"
    DEMAND = "demand"


Reduce = Callable[[list[object]], object]


def as_list(items: list[object]) -> object:
    """Reduce a batch to the list of its items."""
    return items


def as_sum(items: list[object]) -> object:
    """Reduce a batch of numbers to their sum."""
    return sum(items)  # type: ignore[arg-type]


class SourceShape(msgspec.Struct, frozen=True, kw_only=True):
    """One accumulator. `window`: how many items a state keeps (negative: all, 0: a sink that emits nothing)."""

    name: str
    kind: Kind = Kind.PASSTHROUGH
    policy: Policy = Policy.BLOCK
    capacity: int = 1024
    size: int | None = None
    interval: int | None = None
    window: int = -1
    reduce: Reduce = as_list
    flush_on_fire: bool = False
    stale_after: int | None = None
    optional: bool = False
    pond: str | None = None

    @property
    def connects(self) -> bool:
        """Does it have an outside source to connect to? The others are healthy by definition (SocketOnly)."""
        return self.kind in (Kind.STREAM, Kind.POLLING, Kind.POND)


class FailurePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What a failed automatic fire leads to. A retry waits `base`, doubled each time up to `cap`, and then `then`."""

    policy: Failing
    retries: int = 3
    base: int | None = None
    cap: int | None = None
    then: Failing = Failing.DEAD_LETTER


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    """The Pond that a reactor publishes; with `every`, results wait that long and are published together."""

    pond: str
    every: int | None = None


class ReactorShape(msgspec.Struct, frozen=True, kw_only=True):
    """A reactor. `second` is one second in the host's unit; `is_durable` says whether a journal takes the records."""

    sources: Mapping[str, SourceShape]
    criteria: Criteria = Criteria.ANY
    strategy: Strategy = Strategy.LATEST
    graphs: tuple[str, ...] = ("g",)
    dispatched: frozenset[str] = frozenset()
    on_failure: FailurePolicy | None = None
    timeout: int | None = None
    window: int = 64
    is_durable: bool = True
    gate: Gate = Gate.NONE
    publish: Publication | None = None
    fails_with_source: bool = True
    warming_timeout: int | None = None
    crash_attempts: int = 3
    second: int = 1_000_000
    is_sequential: bool = False
    """Is every boundary taken, one after the other? Worked out from the strategy: each event asks several times."""
    needs_all: bool = False
    """Must every required source have something new? Worked out from the criteria."""

    has_ponds: bool = False
    """Is one of the sources a Pond? Worked out from them."""
    is_plain: bool = False
    """Does the end of a fire mean nothing but the start of the next? Worked out: see `onward`."""

    def __post_init__(self) -> None:
        kinds = {source.kind for source in self.sources.values()}
        is_plain = (
            self.publish is None
            and self.timeout is None
            and self.gate is Gate.NONE
            and not self.dispatched
            and not kinds & {Kind.POND, Kind.BATCH}
        )
        msgspec.structs.force_setattr(self, "has_ponds", Kind.POND in kinds)
        msgspec.structs.force_setattr(self, "is_plain", is_plain)
        msgspec.structs.force_setattr(self, "is_sequential", self.strategy is Strategy.SEQUENTIAL)
        msgspec.structs.force_setattr(self, "needs_all", self.criteria is Criteria.ALL)

    @property
    def failing(self) -> FailurePolicy:
        """Give the declared failure policy, or the strategy's default."""
        if self.on_failure is not None:
            return self.on_failure
        return FailurePolicy(policy=Failing.DEAD_LETTER if self.is_sequential else Failing.DROP)

    @property
    def plan_size(self) -> int:
        """How many fires one record may pin: more than one only where each is free to run ahead of its commit."""
        if not self.is_durable or self.gate is Gate.DEMAND or self.dispatched or not self.is_sequential:
            return 1
        return max(1, self.window)
