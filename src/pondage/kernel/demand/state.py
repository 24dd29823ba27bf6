"""The state of a Pond, as the machine advances it in place and a host stores it: one row of JSON for each Pond.

Every number is an integer; NEVER = -1 (never ran), NONE = -2 (never asked, no goal, no timer). A state that goes
through `encode_state` and `decode_state` in the middle of a run behaves as if nothing had happened.
"""

from enum import StrEnum

import msgspec

from pondage.kernel.demand.shape import NEVER, NONE, PondKey, PondShape

WAVE = "wave"
"""What a Wave is called among the standing triggers of a Pond: it has one at most."""


RUNS_BETWEEN_CHUNKS = 10
"""So many Runs that are asked for go before a chunk of a backfill, at most: a Wave must not starve it."""


class Pacing(StrEnum):
    """How a Wave repeats: at every completion, or as targets spaced by the bottleneck's period."""

    EAGER = "eager"
    JUST_IN_TIME = "just_in_time"


class PausedBy(StrEnum):
    """What paused a standing trigger. What somebody paused by name stays so until he resumes it."""

    PAUSE = "pause"
    SLEEP = "sleep"
    KILL = "kill"


class Condition(StrEnum):
    """The health of a Pond in one word; the first that applies: killed, failed, blocked, ok."""

    OK = "ok"
    FAILED = "failed"
    KILLED = "killed"
    BLOCKED = "blocked"


class RunState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A started Run that is not over. `number` is its identity inside the Pond; freshness is not (Force repeats it)."""

    number: int
    freshness: int
    delay: int
    left: int
    """How many Ripples have still to reach `freshness`."""
    immediate_left: int
    """How often a failing Ripple of this Run is executed again at once."""
    is_forced: bool = False


class ChunkState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A chunk of a backfill that runs. No other Run is active, and every Ripple that executes does so for it."""

    chunk: str
    """What the host calls it."""
    number: int
    """The number of its Run."""
    freshness: int
    immediate_left: int
    left: list[str]
    """The Ripples that are not done."""


class SourceState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a Pond knows of one Source, as last heard from it, and what it took and asked."""

    end_f: int = NEVER
    delay: int = 0
    is_blocked: bool = False
    is_deployed: bool = True
    period: int = 0
    lead: int = 0
    wait: int = 0
    taken: int = NEVER
    """What the latest started Run took."""
    told: int = NONE
    """The largest freshness sent to it in a Want."""


class RippleState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One Ripple: what it started and completed, and the pull that it holds."""

    start_f: int = NEVER
    prev: int = NEVER
    """`start_f` before the latest start: a Want below it was served by an older Run."""
    end_f: int = NEVER
    is_busy: bool = False
    attempt: int = 0
    since: int = 0
    """When the current attempt started."""
    want: int = NONE
    taken: dict[str, int] = {}
    told: dict[str, int] = {}
    has_told: bool = False
    """Has every parent been told what was taken from it? (a cache over `taken` and `told`)"""
    waits_on: int = 0
    waits_for: int = NONE
    """The place of the first parent below the freshness `waits_for`: while it is behind, no other report matters."""
    estimate: int = NONE
    """Moving average of the duration."""


class Following(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A standing trigger that follows its readers, and what was decided when it was last looked at.

    What it has learned of them lies beside the state (`profile`), so that a step that is not about readers reads none.
    """

    tz: str
    sure: int
    """The share of weeks, in 1/65536, from which on a reader is expected."""
    new_until: int = NONE
    """It was given lately and is awake until then; NONE when it was to rest from the beginning."""
    is_resting: bool = False
    until: int = NONE
    """Awake: until then, if nobody reads. Resting: until then, for the reader `expected`; NONE until somebody reads."""
    expected: int = NONE
    """When the quarter hour of the last reader who keeps it awake, or of the next one it wakes for, begins."""
    look_at: int = NONE
    """When to decide again."""
    woken: int = NONE
    """When a read ended its rest last: who reads before a Run is as fresh as that may wait for it."""


class PondState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Everything the machine remembers of one Pond."""

    key: PondKey
    definition: str = ""
    """The host's reference of the definition that is in force."""
    deploying: str | None = None
    """The definition that takes over when the active Runs are finished."""
    start_f: int = NEVER
    end_f: int = NEVER
    delay: int = 0
    """D of the Run at `start_f`."""
    end_delay: int = 0
    """D of the Run at `end_f`."""
    top_f: int = NEVER
    """The largest freshness ever started."""
    number: int = 0
    """The number of the latest started Run."""
    want: int = NONE
    targets: list[int] = []
    active: list[RunState] = []
    sources: dict[PondKey, SourceState] = {}
    ripples: dict[str, RippleState] = {}
    busy: int = 0
    busy_roots: int = 0
    """How many Ripples, and how many root Ripples, are executing (counts over `ripples`)."""
    is_failed: bool = False
    failed_f: int = NEVER
    failures: int = 0
    is_killed: bool = False
    is_blocked: bool = False
    blocked_sources: int = 0
    """How many required Sources are blocked (or not deployed)."""
    wave: Pacing | None = None
    tides: dict[str, int] = {}
    """The limit of each Tide by its name; the smallest rules."""
    paused: dict[str, PausedBy] = {}
    """The standing triggers that ask for nothing at the moment: ``wave``, Tides, and Schedules of the host."""
    following: dict[str, Following] = {}
    """The standing triggers that follow their readers."""
    is_woken: bool = False
    is_forced: bool = False
    is_full: bool = False
    """The forced Run is to compute everything anew."""
    chunks: list[str] = []
    """Chunks of backfills that wait to be computed, in their order."""
    chunk: ChunkState | None = None
    """The one that runs."""
    since_chunk: int = NONE
    """How many Runs have started since the last chunk, as far as that matters; NONE before the first was asked for."""
    rollback: str | None = None
    rollback_f: int = NONE
    """The freshness of a Run that was made elsewhere and is to be shown; NONE for one of the Pond's own."""
    goal: int = NONE
    """The freshness that the Sources must reach for the next Run; NONE without demand (a cache)."""
    behind: int = 0
    """How many gating Sources are below `goal` (a cache)."""
    has_told: bool = False
    """Has every Source been told what was taken from it? (a cache over the Sources)"""
    is_comparing: bool = False
    """Has the host been asked whether the Sources agree? It answers within the same transaction."""
    older: list[PondKey] = []
    """Demand is held because these Sources stand on older Runs than the others; they were asked to catch up."""
    catch_up_to: int = NONE
    """Sources as fresh as that are not asked to catch up any more; NONE before they were asked."""
    arrived_at: int = 0
    """When the last update of a Source arrived."""
    wait: int = 0
    """How long the input of the latest Run had waited when it started."""
    period: int = 0
    """The slowest own Ripple (a cache; `is_period_stale` when it may have fallen)."""
    is_period_stale: bool = False
    source_period: int = 0
    source_lead: int = 0
    source_wait: int = 0
    """The largest that the gating Sources publish (caches; `is_pace_stale` when one may have fallen)."""
    is_pace_stale: bool = False
    has_run: bool = False
    """Has a Run of this Pond completed?"""
    skip: int = 0
    """By how much a Tide delays its next target, because the last ones waited."""
    corrected_at: int = NEVER
    timer: int = NONE
    """The time of the last Timer effect."""

    @property
    def has_pull(self) -> bool:
        """Is pull demand held that no started Run has answered?"""
        return self.want >= self.start_f

    @property
    def is_for_chunk(self) -> bool:
        """Has a Run to wait: for the chunk that runs, or for one that has let enough Runs go first?"""
        return self.chunk is not None or (bool(self.chunks) and self.since_chunk >= RUNS_BETWEEN_CHUNKS)

    @property
    def asking_wave(self) -> Pacing | None:
        """The Wave, unless it is paused or rests."""
        return self.wave if self._is_asking(WAVE) else None

    @property
    def asking_tides(self) -> list[int]:
        """The limits of the Tides that are neither paused nor at rest."""
        return [limit for name, limit in self.tides.items() if self._is_asking(name)]

    def _is_asking(self, name: str) -> bool:
        return name not in self.paused and (name not in self.following or not self.following[name].is_resting)

    @property
    def condition(self) -> Condition:
        """The Pond's health in one word."""
        if self.is_killed:
            return Condition.KILLED
        if self.is_failed:
            return Condition.FAILED
        return Condition.BLOCKED if self.is_blocked else Condition.OK


def new_state(shape: PondShape, definition: str = "") -> PondState:
    """Give the state of a Pond that never ran and has heard nothing of its Sources."""
    return PondState(
        key=shape.key,
        definition=definition,
        sources={source: SourceState() for source, _ in shape.sources},
        ripples={name: new_ripple(parents, NEVER) for name, parents in shape.ripples.items()},
    )


def new_ripple(parents: tuple[str, ...], taken: int) -> RippleState:
    """Give the state of a Ripple that never ran; `taken` is the published freshness of its Pond.

    A Ripple that joins a Pond with a past counts as having taken what the Pond published: its first pull must ask the
    roots for something fresher than that, not for something fresher than nothing.
    """
    return RippleState(taken=dict.fromkeys(parents, taken), told=dict.fromkeys(parents, NONE))


def encode_state(state: PondState) -> bytes:
    """Write a state as JSON; the same state always gives the same bytes."""
    return _encoder.encode(state)


def decode_state(text: bytes | str) -> PondState:
    """Read what `encode_state` wrote; raises msgspec.ValidationError for anything else."""
    return _decoder.decode(text)


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(PondState)
