"""What a job file says, as plain values: before joblets are expanded and anything is checked against a registry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from pondage.define.pond.definition import ScheduleDefinition
from pondage.errors import PondageError

FailStrategy = Literal["halt", "continue"]
OnError = Literal["continue", "abort"]

CONTROL_KINDS = (
    "ok",
    "error",
    "if",
    "parallelise",
    "synchronise",
    "subjob_ok",
    "subjob_error",
    "iteration_ok",
    "iteration_error",
    "iterator_complete",
)


class JobConfig(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a whole job behaves; an iterator's params override `fail_strategy`."""

    fail_strategy: FailStrategy = "halt"
    on_subjob_error: OnError = "continue"
    on_component_error: OnError = "continue"
    globals_export: Literal["explicit", "all"] = "explicit"
    max_condition_reevaluations: int = 100
    expr_timeout_ms: int = 100
    timeout_s: float | None = None
    max_in_flight_rows: int | None = None
    max_in_flight_bytes: int | None = None


class Place(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where something stands: the file, the path inside it, and the line and column from 1."""

    file: str = ""
    path: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        where = f":{self.line}:{self.column}" if self.line else ""
        return f"{self.file}{where} {self.path}".strip()


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One component of a job: an instance of a type, or of a joblet when the type begins with `@`."""

    name: str
    type: str
    params: dict[str, object] = {}
    die_on_error: bool = True
    startable: bool = False
    global_export: tuple[str, ...] = ()
    retries: int = 0
    timeout_s: float | None = None
    labels: tuple[str, ...] = ()
    place: Place = Place()


class DataLink(msgspec.Struct, frozen=True, kw_only=True):
    """`source.source_port -> target.target_port`, with limits of its own for a stream."""

    source: str
    source_port: str
    target: str
    target_port: str
    max_in_flight_rows: int | None = None
    max_in_flight_bytes: int | None = None
    place: Place = Place()


class ControlLink(msgspec.Struct, frozen=True, kw_only=True):
    """One control edge; a line with several sources or targets has become several links."""

    kind: str
    source: str
    target: str
    order: int | None = None
    expression: str | None = None
    place: Place = Place()


class JobDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A job file or a joblet file."""

    name: str = ""
    version: str = ""
    config: JobConfig = JobConfig()
    context: dict[str, object] = {}
    inputs: dict[str, tuple[str, str]] = {}
    inputs_at: Place = Place()
    outputs: dict[str, tuple[str, str]] = {}
    schedule: ScheduleDefinition | None = None
    calls: tuple[Call, ...] = ()
    data: tuple[DataLink, ...] = ()
    control: tuple[ControlLink, ...] = ()
    file: str = ""


class TypeClash(msgspec.Struct, frozen=True, kw_only=True):
    """Two types that do not meet: on which edge, what was wanted, what came, and each difference."""

    edge: str
    want: str
    got: str
    diff: tuple[str, ...] = ()


class JobProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong (or, as a warning, doubtful) with a job or a tree, and where."""

    code: str
    message: str
    path: str | None = None
    place: Place = Place()
    clash: TypeClash | None = None


class JobRefused(PondageError):
    """The job cannot run: `problems` holds everything that is wrong with it, not only the first."""

    code = "JOB_REFUSED"

    def __init__(self, problems: Sequence[JobProblem]) -> None:
        self.problems = tuple(problems)
        lines = [f"{problem.code} {problem.place}: {problem.message}" for problem in self.problems]
        super().__init__("\n".join(lines), hint="see all of them: pondage job validate FILE")
        if len(self.problems) == 1:
            self.code = self.problems[0].code
