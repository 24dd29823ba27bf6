"""The state of a run, as rows that a host stores: one for each component, edge, sub-job, scope, iteration and version.

A row that does not exist means that nothing has happened to the thing yet. A state that goes through JSON in the
middle of a run behaves as if nothing had happened.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class State(StrEnum):
    """The states of a component, and (PENDING for WAIT) of a sub-job."""

    WAIT = "WAIT"
    RUNNING = "RUNNING"
    OK = "OK"
    ERROR = "ERROR"
    SKIPPED = "SKIPPED"

    @property
    def is_final(self) -> bool:
        """Does it never change again?"""
        return self not in (State.WAIT, State.RUNNING)


class JobState(StrEnum):
    """The states of a run."""

    RUNNING = "RUNNING"
    OK = "OK"
    ERROR = "ERROR"
    ABORTED = "ABORTED"


class EdgeState(StrEnum):
    """The states of a control edge."""

    PENDING = "PENDING"
    FIRED = "FIRED"
    DEAD = "DEAD"


class Row(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The base of every row."""


class RunRow(Row, kw_only=True, omit_defaults=True):
    """The run itself."""

    state: JobState | None = None
    code: str | None = None
    second: int = 1_000_000
    """How many units of time a second has."""
    steps: int = 10_000
    """The budget of one evaluation."""
    running: int = 0
    """How many instances are dispatched and have not settled."""
    context: dict[str, object] = {}
    is_killed: bool = False
    is_stopped: bool = False


class LevelRow(Row, kw_only=True, omit_defaults=True):
    """One instance of a plan: the job, or one iteration."""

    path: tuple[str, ...] = ()
    """The iterators around it, from the outside, by their names in the plan."""
    numbers: tuple[int, ...] = ()
    """The number of the iteration in each of them."""
    view: str = ""
    """What its components see at the beginning."""
    result: str = ""
    """What it leaves behind when it is over: a view."""
    open: int = 0
    open_main: int = 0
    verdict: State = State.WAIT
    """Of the body, without the handlers of `iteration_ok` and `iteration_error`."""
    is_over: bool = False


class PortRow(Row, kw_only=True, omit_defaults=True):
    """What is known of a connected input: how many producers are undecided, how many delivered."""

    waiting: int
    arrived: int = 0
    lost: bool = False


class ComponentRow(Row, kw_only=True, omit_defaults=True):
    """One component instance."""

    state: State = State.WAIT
    cause: str = ""
    code: str = ""
    attempt: int = 0
    counter: int = 0
    entry_counter: int = 0
    """Of a proxy_in: the counter of what led to the call, for what continues behind it."""
    view_in: str = ""
    view_out: str = ""
    undecided: int = -1
    """How many inbound control edges are pending; -1: all."""
    has_fired: bool = False
    ports: dict[str, PortRow] = {}
    absent: tuple[str, ...] = ()
    """Of a proxy that is OK: the outputs that nobody delivered to it."""
    is_stopping: bool = False
    is_left: bool = False
    """Its attempt is over and no other follows, because the run was killed: a resume executes it."""
    is_restored: bool = False


class EdgeRow(Row, kw_only=True, omit_defaults=True):
    """One control edge of one level."""

    state: EdgeState = EdgeState.PENDING
    cause: str = ""


class SubRow(Row, kw_only=True, omit_defaults=True):
    """One sub-job of one level."""

    state: State = State.WAIT
    open: int = -1
    """How many members and child sub-jobs are not final; -1: all."""
    ran: int = 0
    """How many members were not skipped."""
    errors: tuple[int, ...] = ()
    """The members that ended in ERROR."""
    failed_iterations: tuple[str, ...] = ()
    """Handlers of iterations that failed: failures of this sub-job."""
    error: str = ""
    """Of one that ended in ERROR: the instance whose ERROR is the first (R-053)."""
    view: str = ""
    is_restored: bool = False
    has_prefix: bool = False


class ScopeRow(Row, kw_only=True, omit_defaults=True):
    """One branch or joblet call of one level; the host's `open` counts its own sub-jobs that are not final."""

    state: State = State.WAIT
    open: int = -1
    is_restored: bool = False


class JoinRow(Row, kw_only=True, omit_defaults=True):
    """How many listed branches of a join are not final."""

    open: int


class IteratorRow(Row, kw_only=True, omit_defaults=True):
    """An iterator that dispatches: IDLE is a row that does not exist."""

    total: int = -1
    """How many elements there are; -1 while a condition decides."""
    next: int = 1
    running: int = 0
    succeeded: int = 0
    failed: tuple[int, ...] = ()
    evaluations: int = 0
    has_ended: bool = False
    """No further iteration starts: halted, or the condition is false."""
    error: str = ""
    code: str = ""
    view: str = ""
    writes: dict[str, object] = {}
    deletes: tuple[str, ...] = ()
    after: dict[str, object] = {}
    is_done: bool = False


class ElementsRow(Row, kw_only=True, omit_defaults=True):
    """The elements of an iterator: written once, so that a turn does not write them again."""

    items: list[object] = []


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """A key in a view: the version that is seen, the sub-job that owns the key, and the versions it replaced."""

    version: str
    owner: str
    ancestors: tuple[str, ...] = ()


class ViewRow(Row, kw_only=True, omit_defaults=True):
    """An immutable map of globals, shared by everything that sees the same."""

    entries: dict[str, Entry] = {}


class VersionRow(Row, kw_only=True, omit_defaults=True):
    """One write of one key; never changed."""

    key: str
    value: object = None
    is_deleted: bool = False
    writer: str
    clock: tuple[int, int]
    sub: str
    """The sub-job in which it was written."""
    is_exported: bool = False
    previous: Entry | None = None


TABLES: dict[str, type[Row]] = {
    "run": RunRow,
    "level": LevelRow,
    "component": ComponentRow,
    "edge": EdgeRow,
    "sub": SubRow,
    "scope": ScopeRow,
    "join": JoinRow,
    "iterator": IteratorRow,
    "elements": ElementsRow,
    "view": ViewRow,
    "version": VersionRow,
}
"""The families of rows, by name."""


def encode_row(row: Row) -> bytes:
    """Write a row as JSON; the same row always gives the same bytes."""
    return msgspec.json.encode(row)


def decode_row(table: str, text: bytes | str) -> Row:
    """Read what `encode_row` wrote; raises msgspec.ValidationError for anything else."""
    return msgspec.json.decode(text, type=TABLES[table])
