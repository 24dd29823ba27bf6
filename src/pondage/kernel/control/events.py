"""What can happen to a run. Each event is a frozen value that is stored as JSON in the audit trail and replayed.

An event about an unknown instance, or about an attempt that is over, changes nothing.
"""

from __future__ import annotations

import msgspec

from pondage.kernel.control.state import ComponentRow, EdgeRow, ElementsRow, IteratorRow, LevelRow, VersionRow, ViewRow


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag=str.lower, omit_defaults=True):
    pass


class Start(_Event, frozen=True, kw_only=True):
    """Begin the run. `second`: how many units of time a second has; `steps`: the budget of one evaluation."""

    context: dict[str, object] = {}
    second: int = 1_000_000
    steps: int | None = None


class Settled(_Event, frozen=True, kw_only=True):
    """An attempt ended. `raises` is the text of its failure, `code` the name; None means that it returned."""

    instance: str
    attempt: int
    raises: str | None = None
    code: str = ""
    writes: dict[str, object] = {}
    deletes: tuple[str, ...] = ()
    after: dict[str, object] = {}
    items: list[object] | None = None
    """Of an iterator: its elements."""
    member: str = ""
    """Of a fused group: the inner member that failed. Those before it were built, those behind it never called."""
    is_cut: bool = False
    """It is over because it was asked to stop: of a run that was killed first it is not finished."""
    is_left: bool = False
    """It was never begun, or nobody takes it up again: it gave nothing, also when it had been asked to stop before."""


class Stop(_Event, frozen=True, kw_only=True):
    """Ask a component (without a name: everything that is not settled) to close its outputs early."""

    instance: str | None = None


class Kill(_Event, frozen=True, kw_only=True):
    """End the run: nothing starts any more, what runs gets 30 s. A second one ends it at once."""


class GraceOver(_Event, frozen=True, kw_only=True):
    """The 30 s after a Kill (or after the Stop of an instance) are over."""

    instance: str | None = None


class Timeout(_Event, frozen=True, kw_only=True):
    """The job's `timeout_s` is over."""


class Unfold(_Event, frozen=True, kw_only=True):
    """Go on opening the iterations of an iterator, from where the last step stopped."""

    instance: str


class Restore(_Event, frozen=True, kw_only=True):
    """Take over what an earlier run of the job had finished; comes with Start. Made by `resume.collect`."""

    subs: tuple[str, ...] = ()
    """The sub-jobs that are kept whole, by name."""
    prefixes: dict[str, tuple[str, ...]] = {}
    """Of unfinished sub-jobs: the members that are kept."""
    components: dict[str, ComponentRow] = {}
    edges: dict[str, EdgeRow] = {}
    """By `source -kind-> target`."""
    views: dict[str, ViewRow] = {}
    versions: dict[str, VersionRow] = {}
    iterators: dict[str, IteratorRow] = {}
    elements: dict[str, ElementsRow] = {}
    iterations: dict[str, LevelRow] = {}
    """Iterations that ended OK, by the key of their level."""


Event = Start | Settled | Stop | Kill | GraceOver | Timeout | Unfold | Restore
