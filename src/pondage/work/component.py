"""What a worker is given to run components of a job, and what it answers. Values shared by the ledger and Spark."""

from __future__ import annotations

from typing import Literal

import msgspec

from pondage.define.pond.definition import ExpectationDefinition
from pondage.define.types.segment import Segment
from pondage.work.snapshot import Batch, SnapshotContent
from pondage.work.task import Task


class Stored(msgspec.Struct, frozen=True, tag="table"):
    """A table that an earlier execution of the run wrote."""

    content: SnapshotContent


class Made(msgspec.Struct, frozen=True, tag="member"):
    """The output of an earlier member of the same fused group: a DataFrame that was never written."""

    instance: str
    port: str


class Given(msgspec.Struct, frozen=True, tag="value"):
    """A plain value: the element of an iterator."""

    value: object


class Panic(msgspec.Struct, frozen=True, kw_only=True):
    """Why a node failed: the one row of its output `panic`. `detail` is the traceback, where there is one."""

    node: str
    attempt: int
    code: str
    message: str
    detail: str = ""
    at: int = 0
    """Microseconds since 1970."""


class Panicked(msgspec.Struct, frozen=True, tag="panic"):
    """The panic of a node whose failure a handler takes over."""

    panic: Panic


class Streamed(msgspec.Struct, frozen=True, tag="stream"):
    """A stream of the run: to be read segment by segment, or, when `segments` is given, complete."""

    instance: str
    port: str
    segments: tuple[Segment, ...] | None = None
    rows: str = ""
    """What its rows are, where that is known before there are any."""


Input = Stored | Made | Given | Panicked | Streamed


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    """An output that becomes the table of a Ripple: where it goes, what it promised so far and what it must keep."""

    dataset_id: str
    run_id: str
    where: str
    contract: str | None = None
    batch: Batch | None = None
    expectations: tuple[ExpectationDefinition, ...] = ()
    freshness: int = 0
    volumes: tuple[int, ...] = ()
    tables: dict[str, SnapshotContent | None] = {}
    """What its expectations compare with: the rows of its last snapshots, and the tables that foreign keys point to."""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """An external program: how it is started, and what travels through its ports."""

    hash: str
    """Of the version of Pondage, the program's own code and its declaration: equal hashes mean the same program."""
    command: tuple[str, ...]
    transport: str = "unix"
    inputs: dict[str, str] = {}
    accepts: dict[str, str] = {}
    """Inputs that take more than exactly their columns, and how much more."""
    outputs: dict[str, str] = {}
    """What its outputs are in this run, as far as its planner knew."""
    vars: dict[str, str] = {}
    """The variables that are left in these types."""


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One component to be run. A port without inputs is an optional one that nothing feeds."""

    instance: str
    component: str
    entry: str
    mode: Literal["table", "stream"] = "table"
    params: dict[str, object] = {}
    """With every expression already evaluated."""
    inputs: dict[str, tuple[Input, ...]] = {}
    writes: tuple[str, ...] = ()
    """The output ports whose tables must be written, because somebody outside this execution reads them."""
    gives: dict[str, str] = {}
    """Of a component in stream mode: what its outputs are in this run, as far as its planner knew."""
    program: Program | None = None
    publishes: dict[str, Publication] = {}
    """Those of them that become the table of a Ripple, whose body the job is."""


class ComponentTask(Task, frozen=True, kw_only=True):
    """One component, or the members of a fused group in topological order."""

    job: str
    run_id: str
    attempt: int
    run: int = 0
    """The row of the run, which its streams belong to."""
    members: tuple[Member, ...]
    globals: dict[str, object] = msgspec.field(default_factory=dict)
    context: dict[str, object] = msgspec.field(default_factory=dict)
    idempotency_key: str = ""
    is_stopping: bool = False
    """It was asked to stop before anybody took it."""

    @property
    def title(self) -> str:
        """Answer the components, and whose they are."""
        return f"{', '.join(member.instance for member in self.members)} of {self.job}, run {self.run_id}"

    @property
    def folder(self) -> str:
        """Answer the run."""
        return self.run_id

    @property
    def has_summary(self) -> bool:
        """Answer that people look at it with its run."""
        return True


class MemberResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a member ended. `raises` is the text of its failure and `code` its name; None means that it returned."""

    instance: str
    raises: str | None = None
    code: str = ""
    trace: str | None = None
    is_skipped: bool = False
    """Never called, because an earlier member of its group failed."""
    outputs: dict[str, SnapshotContent] = {}
    after: dict[str, object] = {}
    globals: dict[str, object] = {}
    deletes: tuple[str, ...] = ()
    items: list[object] | None = None
    """Of an iterator: its elements."""
    is_cut: bool = False
    """It knew that it was asked to stop, and may have given less than all."""


class ComponentResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one execution answers, a result for each member in their order."""

    members: tuple[MemberResult, ...]
