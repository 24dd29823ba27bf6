"""What can happen to Ponds. Each event is a frozen value that is stored as JSON in the audit trail and replayed.

An event about an unknown Pond, an unknown Ripple or an attempt that is over changes nothing.
"""

import msgspec

from pondage.kernel.demand.shape import PondKey
from pondage.kernel.demand.state import Pacing
from pondage.kernel.reading.profile import SURE


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag=str.lower, omit_defaults=True):
    pond: PondKey


class Done(_Event, frozen=True, kw_only=True):
    """A Ripple's attempt completed. `reused`: nothing was executed, so the duration says nothing."""

    ripple: str
    attempt: int
    reused: bool = False


class Fail(_Event, frozen=True, kw_only=True):
    """A Ripple's attempt failed; `error` is handed on to the host's effect as it is."""

    ripple: str
    attempt: int
    error: str = ""


class Tap(_Event, frozen=True, kw_only=True):
    """Pull once: take what the Sources have and let them resupply."""


class Pulse(_Event, frozen=True, kw_only=True):
    """Push once: reach the freshness `at` (not later than now; absent: now)."""

    at: int | None = None


class Follow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a standing trigger follows its readers: on the clock of `tz`, sure of one from this share (1/65536) on.

    It is awake for its first week, unless `is_resting`.
    """

    tz: str = "UTC"
    sure: int = SURE
    is_resting: bool = False


class Wave(_Event, frozen=True, kw_only=True):
    """Pull for ever: a Tap now, at every completion and when the Pond is unblocked. Replaces the Wave that is there."""

    pacing: Pacing = Pacing.EAGER
    follow: Follow | None = None


class Tide(_Event, frozen=True, kw_only=True):
    """Push for ever, so that the Pond is never staler than `limit` if possible. Replaces the Tide of the same name."""

    limit: int
    name: str = "tide"
    follow: Follow | None = None


class Read(_Event, frozen=True, kw_only=True):
    """Somebody read the Pond at this time; of a Pond without triggers that follow their readers nothing changes."""

    at: int


class Calm(_Event, frozen=True, kw_only=True):
    """Remove the Tide of that name (``wave``: the Wave); without a name the Wave and every Tide."""

    name: str | None = None


class Due(_Event, frozen=True, kw_only=True):
    """The time `at` of the Schedule of that name has come: a Pulse, unless the Schedule is paused."""

    name: str
    at: int


class Pause(_Event, frozen=True, kw_only=True):
    """Let the standing trigger of that name ask for nothing; without a name the Wave, every Tide, every Schedule."""

    name: str | None = None


class Resume(_Event, frozen=True, kw_only=True):
    """Let the standing trigger of that name ask again, whatever paused it; without a name all of them."""

    name: str | None = None


class Clear(_Event, frozen=True, kw_only=True):
    """Acknowledge a failure or a Kill: held demand runs again."""


class Wake(_Event, frozen=True, kw_only=True):
    """Clear, and one Run if the Sources are ahead right now; asks nothing of them and is not held.

    Schedules that Sleep or Kill paused ask again.
    """


class Force(_Event, frozen=True, kw_only=True):
    """Clear, and one Run even if nothing is new, as soon as no Run is active. `full`: as if there were nothing yet."""

    full: bool = False


class Kill(_Event, frozen=True, kw_only=True):
    """Stop: cancel what runs, forget demand and standing triggers, block the Sinks until Clear.

    Schedules, which are the host's, are paused until Wake or Resume.
    """


class Sleep(_Event, frozen=True, kw_only=True):
    """Forget demand and standing triggers; started Runs complete. `upstream`: the ancestors too.

    Schedules, which are the host's, are paused until Wake or Resume.
    """

    upstream: bool = False


class Tick(_Event, frozen=True, kw_only=True):
    """Time has passed: look again. Too early or too often changes nothing."""


class Deploy(_Event, frozen=True, kw_only=True):
    """Put a definition in force; the host resolves the reference through `Ponds.definition`. Makes no demand."""

    definition: str


class Remove(_Event, frozen=True, kw_only=True):
    """Take the Pond away: as Kill; Sinks that still name it are blocked as by a Source not deployed."""


class Rollback(_Event, frozen=True, kw_only=True):
    """Make the completed Run `run` (the host's reference) the current one; the Sinks are not told of an older one.

    `freshness` is that of a Run that was made elsewhere: when it is fresher than the Pond, the Pond is as fresh now.
    """

    run: str
    freshness: int | None = None


class Asked(_Event, frozen=True, kw_only=True):
    """A reactor that reads this Pond, as a Sink would: fresher than `want`, or reach `target`."""

    want: int | None = None
    target: int | None = None


class Fed(_Event, frozen=True, kw_only=True):
    """The reactor behind this Pond published; without a `batch` (the host's text) the data is what it was."""

    freshness: int
    delay: int = 0
    batch: str | None = None


class Stuck(_Event, frozen=True, kw_only=True):
    """The reactor behind this Pond is blocked, or not any more."""

    on: bool


class Forgot(_Event, frozen=True, kw_only=True):
    """The reactor behind this Pond forgot what it was asked."""


class Backfill(_Event, frozen=True, kw_only=True):
    """Compute a part of what is published again: the host's chunk of that name, once. Makes no demand."""

    chunk: str


class Withdraw(_Event, frozen=True, kw_only=True):
    """Give back a chunk that has not started. `stop`: also when it runs."""

    chunk: str
    stop: bool = False


class Compared(_Event, frozen=True, kw_only=True):
    """The answer to `Compare`: the Sources that stand on older Runs than the others; none of them when all agree."""

    freshness: int
    older: tuple[PondKey, ...] = ()


Report = Done | Fail
Standing = Wave | Tide | Calm | Due | Pause | Resume
Again = Backfill | Withdraw
Verb = Tap | Pulse | Read | Standing | Clear | Wake | Force | Kill | Sleep | Tick | Deploy | Remove | Rollback | Again
Live = Asked | Fed | Stuck | Forgot
Event = Report | Verb | Live | Compared
