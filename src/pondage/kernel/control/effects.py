"""What the machine decided, for a host to carry out, in this order. Every effect carries its reason."""

from __future__ import annotations

import msgspec

from pondage.kernel.control.events import GraceOver, Timeout
from pondage.kernel.control.state import JobState, State


class _Effect(msgspec.Struct, frozen=True, kw_only=True, tag_field="effect", tag=str.lower, omit_defaults=True):
    reason: str


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where an input comes from: the output of an instance, an element of an iterator, or all its iterations."""

    instance: str
    port: str
    gathers: str = ""
    """The component of the body whose outputs are gathered: one table for each iteration that ended OK."""
    element: int = 0
    """The number of the element that an iterator hands to its body."""


class GroupMember(msgspec.Struct, frozen=True, omit_defaults=True):
    """An inner member of a fused group. A source that is a member itself is handed over without being written."""

    instance: str
    component: str
    inputs: dict[str, tuple[Source, ...]] = {}


class Run(_Effect, frozen=True, kw_only=True):
    """Execute an instance. `view` is the row of globals that it sees; an absent optional input has no sources."""

    instance: str
    component: str
    attempt: int
    inputs: dict[str, tuple[Source, ...]] = {}
    view: str = ""
    members: tuple[GroupMember, ...] = ()
    """Of a fused group: what is built before it in the same execution, in topological order."""


class Cancel(_Effect, frozen=True, kw_only=True):
    """Stop this attempt; whatever it still reports is ignored."""

    instance: str
    attempt: int


class StopInstance(_Effect, frozen=True, kw_only=True):
    """Ask an instance to close its outputs and return."""

    instance: str
    attempt: int
    is_last: bool = False
    """The run was killed: whatever becomes of the attempt, it is not tried again."""


class InputError(_Effect, frozen=True, kw_only=True):
    """Tell a running consumer of a stream that its producer failed."""

    instance: str
    port: str
    code: str


class Timer(_Effect, frozen=True, kw_only=True):
    """Send this event at this time."""

    at: int
    event: GraceOver | Timeout


class Unfold(_Effect, frozen=True, kw_only=True):
    """More iterations may begin than one step opens: send the event of this name before anything else."""

    instance: str
    cursor: int
    """The number of the iteration that is next."""


class Checkpoint(_Effect, frozen=True, kw_only=True):
    """Keep what was finished: `kind` is subjob, fork, joblet or iteration; the rows of its members are the record."""

    kind: str
    name: str
    status: State
    scope: str
    members: tuple[str, ...] = ()
    view: str = ""


class Done(_Effect, frozen=True, kw_only=True):
    """The run is over. `view`: the globals that it leaves behind."""

    state: JobState
    code: str | None = None
    view: str = ""


class _Log(_Effect, frozen=True, kw_only=True):
    scope: str = ""
    """The level and scope that it happened in: inside it the order means something."""


class ComponentChanged(_Log, frozen=True, kw_only=True):
    """A component changed its state; `cause` says why it was skipped or how it failed."""

    instance: str
    state: State
    cause: str = ""


class EdgeFired(_Log, frozen=True, kw_only=True):
    """A control edge fired."""

    source: str
    label: str
    target: str


class GlobalWritten(_Log, frozen=True, kw_only=True):
    """A global was written, or deleted; `old` is set when it had a value."""

    key: str
    value: object = None
    clock: tuple[int, int]
    writer: str
    is_deleted: bool = False
    old: tuple[object, ...] = ()


class GlobalDropped(_Log, frozen=True, kw_only=True):
    """A write to a key of another sub-job ended with its own sub-job: GLOBAL_NOT_EXPORTED."""

    key: str
    writer: str


class SubChanged(_Log, frozen=True, kw_only=True):
    """A sub-job, a joblet call or an iteration changed its state."""

    name: str
    state: State
    cause: str = ""


class SubRestored(_Log, frozen=True, kw_only=True):
    """A sub-job, an iteration or (prefix) a part of a sub-job was taken over from the run before."""

    name: str
    prefix: tuple[str, ...] = ()


class IterationsHalted(_Log, frozen=True, kw_only=True):
    """The iterations from `first` to `last` of an iterator will not run."""

    iterator: str
    suffix: str
    first: int
    last: int


class IteratorChanged(_Log, frozen=True, kw_only=True):
    """An iterator went to another phase; `total` is -1 while a condition decides."""

    instance: str
    phase: str
    total: int = -1
    is_restored: bool = False


class Signalled(_Log, frozen=True, kw_only=True):
    """A Kill arrived."""


class JobChanged(_Log, frozen=True, kw_only=True):
    """The job changed its state."""

    state: JobState
    code: str | None = None


Log = (
    ComponentChanged
    | EdgeFired
    | GlobalWritten
    | GlobalDropped
    | SubChanged
    | SubRestored
    | IterationsHalted
    | IteratorChanged
    | Signalled
    | JobChanged
)
Effect = Run | Cancel | StopInstance | InputError | Timer | Unfold | Checkpoint | Done | Log
