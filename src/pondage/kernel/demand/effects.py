"""What the machine decided, for a host to carry out, in this order. Every effect carries the reason."""

from enum import StrEnum

import msgspec

from pondage.kernel.demand.shape import PondKey


class Reason(StrEnum):
    """Why something was decided: one vocabulary for effects, audit trail and explanations."""

    PULL = "pull"
    PUSH = "push"
    RETRY = "retry"
    WAKE = "wake"
    FORCE = "force"
    ROLLBACK = "rollback"
    BACKFILL = "backfill"
    RUN = "run"
    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"
    REMOVED = "removed"
    SOURCE = "source"
    CLEARED = "cleared"
    RECOVERED = "recovered"
    DEPLOYED = "deployed"
    WINDOW = "window"
    TIDE = "tide"
    CLOCK = "clock"
    READERS = "readers"
    VERB = "verb"


class _Effect(msgspec.Struct, frozen=True, kw_only=True, tag_field="effect", tag=str.lower, omit_defaults=True):
    pond: PondKey
    reason: Reason


class StartRun(_Effect, frozen=True, kw_only=True):
    """A Run of the Pond started: write it down with what it took of each Source, before its Ripples."""

    number: int
    freshness: int
    delay: int
    taken: dict[PondKey, int]
    is_forced: bool = False
    is_full: bool = False
    """It was asked to compute everything anew, not only what changed."""
    rollback: str | None = None
    """The older Run that this one repeats without executing anything."""
    chunk: str | None = None
    """The chunk of a backfill that it computes: nothing of it is reused, and what it reads is no hint for others."""
    is_fed: bool = False
    batch: str | None = None
    """What the reactor behind the Pond published; None in a fed Run: the same data, fresher."""


class Compare(_Effect, frozen=True, kw_only=True):
    """Say by `Compared` whether a Run at `freshness` would read Sources that agree; what was carried out before counts.

    Only of Ponds that read nothing else.
    """

    freshness: int


class StartRipple(_Effect, frozen=True, kw_only=True):
    """Execute a Ripple at `freshness`. `number`: the newest Run it serves; older active ones are served too."""

    ripple: str
    number: int
    freshness: int
    attempt: int
    is_retry: bool = False
    is_forced: bool = False


class Cancel(_Effect, frozen=True, kw_only=True):
    """Stop this attempt; whatever it still reports is ignored."""

    ripple: str
    attempt: int


class RunFinished(_Effect, frozen=True, kw_only=True):
    """A Run completed: publish it. The Runs numbered in `subsumed` end with it and are not published themselves."""

    number: int
    freshness: int
    delay: int
    subsumed: tuple[int, ...] = ()
    is_fresher: bool = True
    """Did the Pond's freshness grow, so that its Sinks were told? A forced repetition or a rollback does not."""
    rollback: str | None = None


class RunDropped(_Effect, frozen=True, kw_only=True):
    """These Runs are given up (failed, killed or removed); they will never complete."""

    numbers: tuple[int, ...]
    freshnesses: tuple[int, ...]


class ChunkEnded(_Effect, frozen=True, kw_only=True):
    """A chunk of a backfill is over: completed, or failed with `error`, or given back for any other reason."""

    chunk: str
    error: str = ""


class Failed(_Effect, frozen=True, kw_only=True):
    """The Pond failed in a Ripple whose immediate retries were spent."""

    ripple: str
    attempt: int
    freshness: int
    failures: int
    error: str = ""


class Recovered(_Effect, frozen=True, kw_only=True):
    """A Run fresher than the failure succeeded, or the failure was cleared."""


class Blocked(_Effect, frozen=True, kw_only=True):
    """The Pond takes no new demand from now on: it failed, was killed, or a required Source is blocked."""


class Unblocked(_Effect, frozen=True, kw_only=True):
    """The Pond takes demand again."""


class Timer(_Effect, frozen=True, kw_only=True):
    """Send a Tick at this time; replaces the Pond's former timer."""

    at: int


class Deployed(_Effect, frozen=True, kw_only=True):
    """The definition is in force from now on; Runs started earlier were finished on the former one."""

    definition: str


class Demanded(_Effect, frozen=True, kw_only=True):
    """Tell the reactor behind the Pond what is wanted of it: fresher than `want`, or `target`."""

    want: int | None = None
    target: int | None = None


class Commanded(_Effect, frozen=True, kw_only=True):
    """Tell the reactor behind the Pond what an operator told the Pond."""

    verb: str


Effect = (
    StartRun
    | Compare
    | StartRipple
    | Cancel
    | RunFinished
    | RunDropped
    | ChunkEnded
    | Failed
    | Recovered
    | Blocked
    | Unblocked
    | Timer
    | Deployed
    | Demanded
    | Commanded
)
