"""What the rules of demand remember, as the text names it; everything that can be derived is derived at each look."""

from dataclasses import dataclass, field

from pondage.kernel.demand import NEVER, NONE, PondKey, PondShape
from pondage.kernel.demand.state import Pacing
from tests.kernel.demand.rules_readers import Follower


@dataclass
class Ripple:
    parents: tuple[str, ...]
    taken: dict[str, int]
    told: dict[str, int]
    start_f: int = NEVER
    prev: int = NEVER
    end_f: int = NEVER
    is_busy: bool = False
    attempt: int = 0
    want: int = NONE
    est: int = 0
    since: int = 0

    def roll_back(self) -> None:
        # The text leaves `prev`: after two failed Runs a Tap would count as served, and be lost.
        self.start_f, self.prev = self.end_f, min(self.prev, self.end_f)


@dataclass
class Source:
    required: bool
    end_f: int = NEVER
    delay: int = 0
    is_blocked: bool = False
    pace: tuple[int, int, int] = (0, 0, 0)
    """Period, lead and wait, as published."""
    taken: int = NEVER
    told: int = NONE


@dataclass
class Run:
    f: int
    delay: int
    left: int
    immediate_left: int


@dataclass
class Chunk:
    name: str
    immediate_left: int
    left: set[str]


@dataclass
class Pond:
    shape: PondShape
    ripples: dict[str, Ripple]
    sources: dict[PondKey, Source]
    start_f: int = NEVER
    end_f: int = NEVER
    top_f: int = NEVER
    delay: int = 0
    end_delay: int = 0
    want: int = NONE
    targets: list[int] = field(default_factory=list)
    active: list[Run] = field(default_factory=list)
    is_failed: bool = False
    is_killed: bool = False
    is_blocked: bool = False
    failed_f: int = NEVER
    failures: int = 0
    wave: Pacing | None = None
    tide: int | None = None
    followers: dict[str, Follower] = field(default_factory=dict)
    is_woken: bool = False
    is_forced: bool = False
    arrived_at: int = 0
    wait: int = 0
    skip: int = 0
    corrected_at: int = NEVER
    has_run: bool = False
    chunks: list[str] = field(default_factory=list)
    chunk: Chunk | None = None
    since_chunk: int | None = None

    @property
    def waits_for_chunk(self) -> bool:
        return self.chunk is not None or bool(self.chunks and self.since_chunk is not None and self.since_chunk >= 10)

    @property
    def has_pull(self) -> bool:
        return self.want >= self.start_f

    @property
    def gating(self) -> dict[PondKey, Source]:
        return {key: one for key, one in self.sources.items() if one.required} or self.sources

    @property
    def roots_busy(self) -> bool:
        return any(self.ripples[name].is_busy for name in self.shape.roots)

    @property
    def goal(self) -> int | None:
        is_retried = self.is_failed and self.failures <= self.shape.retries.on_change
        if (self.has_pull and not self.is_failed) or is_retried or self.is_woken:
            return self.start_f + 1
        return None if self.is_failed else next((each for each in self.targets if each > self.start_f), None)

    def rests(self, name: str) -> bool:
        return name in self.followers and self.followers[name].is_resting

    @property
    def asking_wave(self) -> Pacing | None:
        return None if self.rests("wave") else self.wave

    @property
    def limit(self) -> int | None:
        if self.asking_wave is Pacing.JUST_IN_TIME:
            return 0
        return None if self.rests("tide") else self.tide

    def pace(self, part: int) -> int:
        return max((source.pace[part] for source in self.gating.values()), default=0)

    @property
    def period(self) -> int:
        return max(self.pace(0), *(ripple.est for ripple in self.ripples.values()))

    @property
    def lead(self) -> int:
        ways: dict[str, int] = {}
        for name in self.shape.order:
            ripple = self.ripples[name]
            ways[name] = ripple.est + max((ways[parent] for parent in ripple.parents), default=0)
        return max(ways.values()) + self.pace(1)

    @property
    def due_at(self) -> int | None:
        if self.limit is None:
            return None
        if self.start_f == NEVER and not self.targets:
            return 0
        period = self.period
        due = max([*self.targets, self.start_f - self.delay]) + max(self.limit, period, 1)
        return max(due, self.start_f + 1) + (self.skip if self.limit < period else 0)

    @property
    def has_room(self) -> bool:
        most = -(-self.pace(1) // max(self.period, 1)) + 1 if self.has_run else 1
        return not self.is_blocked and sum(each > self.start_f for each in self.targets) < most

    def is_due(self, now: int) -> bool:
        due = self.due_at
        return due is not None and now >= due and self.has_room

    def source_f(self, now: int) -> int:
        if self.sources:
            known = [source.end_f for source in self.gating.values()]
            return min(known) if self.shape.required else max(known)
        if self.shape.calendar is None:
            return now
        occurrence = self.shape.calendar.occurrence(now)
        return NONE if occurrence is None else occurrence[1]

    def delay_at(self, f: int, now: int) -> int:
        if self.sources:
            return max((source.delay for source in self.sources.values() if source.end_f == f), default=0)
        occurrence = self.shape.calendar.occurrence(now) if self.shape.calendar else None
        return occurrence[1] - occurrence[0] if occurrence else 0
