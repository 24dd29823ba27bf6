"""Why a Pond does not run: a list of gates, each a small value that CLI, API and page show alike."""

import msgspec

from pondage.kernel.demand.shape import PondKey
from pondage.kernel.demand.state import PausedBy


class Running(msgspec.Struct, frozen=True, tag_field="gate", tag="running"):
    """It runs: the executing Ripples with their freshness, and the active Runs."""

    ripples: list[tuple[str, int]]
    runs: list[int]


class Backfilling(msgspec.Struct, frozen=True, tag_field="gate", tag="backfill"):
    """Chunks of a backfill: the Ripples that compute one now, and how many wait. `is_first`: Runs wait for it."""

    ripples: list[str]
    waiting: int
    is_first: bool


class Killed(msgspec.Struct, frozen=True, tag_field="gate", tag="killed"):
    """Somebody killed it; Clear lets it go on."""


class HasFailed(msgspec.Struct, frozen=True, tag_field="gate", tag="failed"):
    """It failed at this freshness; `retries_left` Runs are tried by themselves when the Sources move on."""

    at: int
    failures: int
    retries_left: int


class IsBlocked(msgspec.Struct, frozen=True, tag_field="gate", tag="blocked"):
    """These ancestors failed, were killed, or are not deployed."""

    by: list[PondKey]


class Deploying(msgspec.Struct, frozen=True, tag_field="gate", tag="deploying"):
    """A definition waits until the active Runs, started on the former one, are finished."""

    definition: str


class HeldDemand(msgspec.Struct, frozen=True, tag_field="gate", tag="held demand"):
    """Demand that runs again on Clear."""

    targets: list[int]
    pull: bool


class NoDemand(msgspec.Struct, frozen=True, tag_field="gate", tag="no demand"):
    """Nobody asks."""


class TideDue(msgspec.Struct, frozen=True, tag_field="gate", tag="tide"):
    """The next target of its Tide is due then."""

    due: int


class WaitsForSource(msgspec.Struct, frozen=True, tag_field="gate", tag="source"):
    """A Source is behind; ``any`` where none is required."""

    source: str
    has: int
    needs: int


class Disagree(msgspec.Struct, frozen=True, tag_field="gate", tag="disagree"):
    """It reads only what agrees, and these Sources stand on older Runs of a common ancestor than the others."""

    older: list[PondKey]


class WaitsForWindow(msgspec.Struct, frozen=True, tag_field="gate", tag="window"):
    """The clock has to reach this; None when no window follows."""

    opens: int | None


class RippleBusy(msgspec.Struct, frozen=True, tag_field="gate", tag="ripple busy"):
    """These root Ripples have to finish first."""

    ripples: list[str]


class Paused(msgspec.Struct, frozen=True, tag_field="gate", tag="paused"):
    """These standing triggers ask for nothing: each with what paused it."""

    triggers: list[tuple[str, PausedBy]]


class Resting(msgspec.Struct, frozen=True, tag_field="gate", tag="resting"):
    """This standing trigger asks for nothing, because nobody reads.

    It wakes at `wakes` for a reader who is expected at `expected` (both None: when somebody reads), seen on `seen` of
    the last `of` days of that kind. Nobody has read between the times of day `quiet` (minutes; None: never yet) on such
    days of the last `weeks`. `missed`: readers who were expected did not come.
    """

    trigger: str
    wakes: int | None
    expected: int | None
    seen: int = 0
    of: int = 0
    quiet: tuple[int, int] | None = None
    is_workday: bool = True
    weeks: int = 0
    missed: bool = False
    tz: str = "UTC"


class NotDeployed(msgspec.Struct, frozen=True, tag_field="gate", tag="not deployed"):
    """It names a Source that is not deployed."""

    source: PondKey


Gate = (
    Running
    | Backfilling
    | Killed
    | HasFailed
    | IsBlocked
    | Deploying
    | HeldDemand
    | NoDemand
    | TideDue
    | WaitsForSource
    | Disagree
    | WaitsForWindow
    | RippleBusy
    | Paused
    | Resting
    | NotDeployed
)
