"""A checked plan of a job: the static values that the control machine runs. Made by `plan.job`, stored as JSON."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from pondage.define.job.job import JobConfig
from pondage.define.types.port import PANIC_PORT
from pondage.expr import Node


class EdgeKind(StrEnum):
    """The catalogue of control edges."""

    OK = "ok"
    ERROR = "error"
    IF = "if"
    PARALLELISE = "parallelise"
    SYNCHRONISE = "synchronise"
    SUBJOB_OK = "subjob_ok"
    SUBJOB_ERROR = "subjob_error"
    ITERATION_OK = "iteration_ok"
    ITERATION_ERROR = "iteration_error"
    ITERATOR_COMPLETE = "iterator_complete"


class Virtual(StrEnum):
    """Proxies of a joblet call; they take no time and are never dispatched."""

    NONE = ""
    IN = "in"
    OUT = "out"


class ScopeKind(StrEnum):
    """Where a component lives: the job (or one iteration), a branch of a fork, or a joblet call."""

    JOB = "job"
    BRANCH = "branch"
    JOBLET = "joblet"


class PlanPort(msgspec.Struct, frozen=True, omit_defaults=True):
    """A connected input. `is_outside`: fed from outside the iteration, so it is there from the beginning.

    `item_of`: the iterator whose element feeds it.
    """

    name: str
    required: bool = True
    multi: bool = False
    type: str = "Table<Any>"
    is_outside: bool = False
    item_of: str = ""


class IteratorShape(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How an iterator repeats its body."""

    mode: str = "rows"
    condition: Node | None = None
    parallel: int = 1
    halts: bool = True
    tolerate: int | None = None
    tolerate_percent: float | None = None
    globals: str = "accumulate"
    max_iterations: int = 10_000


class PlanComponent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One component of the expanded graph, in topological order; `sub` and `scope` are places in the plan's lists."""

    name: str
    type: str
    params: dict[str, object] = {}
    die_on_error: bool = True
    startable: bool = False
    global_export: tuple[str, ...] = ()
    retries: int = 0
    timeout_s: float | None = None
    virtual: Virtual = Virtual.NONE
    caller: str = ""
    """The joblet call that it belongs to (of a proxy: its own call)."""
    ports: tuple[PlanPort, ...] = ()
    outputs: tuple[str, ...] = ()
    after: tuple[str, ...] | None = None
    globals: tuple[str, ...] | None = None
    labels: tuple[str, ...] = ()
    gives: dict[str, str] = {}
    """Of a component in stream mode: what each of its outputs is, with every name and variable put in."""
    digest: str = ""
    """Of its definition, its params and all that leads to it: equal digests mean that its results can be kept."""
    sub: int = 0
    scope: int = 0
    is_needed: bool = False
    """Is a required port with one producer fed by it? Then its ERROR is never just allowed."""
    iterator: IteratorShape | None = None


class DataEdge(msgspec.Struct, frozen=True, omit_defaults=True):
    """Data from an output to an input. `gathers`: from a body, one item for each iteration, through its iterator."""

    source: int
    source_port: str
    target: int
    target_port: str
    is_stream: bool = False
    gathers: str = ""
    max_in_flight_rows: int | None = None
    max_in_flight_bytes: int | None = None
    type: str = ""
    """Of a stream that is read as a table: what its rows are, also when there are none."""

    @property
    def is_panic(self) -> bool:
        """Does it carry the row that says why its source failed, and nothing when it did not?"""
        return self.source_port == PANIC_PORT


class ControlEdge(msgspec.Struct, frozen=True, omit_defaults=True):
    """A control edge. Of `iteration_*` the source is -1: the iteration itself."""

    kind: EdgeKind
    source: int
    target: int
    order: int = 0
    expression: Node | None = None
    label: str = ""
    """As it is shown: `ok`, `if2`."""
    is_whole: bool = False
    """`subjob_*` of a joblet call: it asks for the call as a whole, not for the sub-job that it stands in."""


class PlanScope(msgspec.Struct, frozen=True, omit_defaults=True):
    """A scope: `parent` is a place in the list (-1: none); `owner` is the fork or the joblet's proxy_out."""

    kind: ScopeKind
    parent: int
    name: str = ""
    owner: int = -1
    subs: tuple[int, ...] = ()


class PlanSub(msgspec.Struct, frozen=True, omit_defaults=True):
    """A sub-job: its members in topological order; its place in the list is its index in clocks."""

    name: str
    scope: int
    members: tuple[int, ...]
    parent: int = -1
    """The sub-job that the scope's owner belongs to."""
    is_entry: bool = False
    is_epilogue: bool = False
    digest: str = ""


class Join(msgspec.Struct, frozen=True):
    """A gate before `target`: its `synchronise` edges, and the branch scopes that it waits for."""

    target: int
    fork: int
    edges: tuple[int, ...]
    branches: tuple[int, ...]


class JobPlan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One level: a job, or the body of an iterator."""

    components: tuple[PlanComponent, ...]
    data: tuple[DataEdge, ...] = ()
    stops: tuple[DataEdge, ...] = ()
    """Edges into `stop` ports: the first row on one is a Stop of its target. They delay nothing and order nothing."""
    control: tuple[ControlEdge, ...] = ()
    scopes: tuple[PlanScope, ...] = ()
    subs: tuple[PlanSub, ...] = ()
    joins: tuple[Join, ...] = ()
    bodies: dict[str, JobPlan] = {}
    groups: tuple[tuple[int, ...], ...] = ()
    inputs: dict[str, tuple[str, str]] = {}
    """What whoever runs the job hands in: the input of a component, by the name under which it is exposed."""
    outputs: dict[str, tuple[str, str]] = {}
    name: str = ""
    version: str = ""
    config: JobConfig = JobConfig()
    context: dict[str, object] = {}
    hash: str = ""
