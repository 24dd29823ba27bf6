"""What a tree says, as plain values: programs and constants joined by edges. Nothing in it is code, SQL or a path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from pondage.define.job.component import ComponentDefinition
from pondage.define.job.job import JobProblem, JobRefused
from pondage.define.types.port import INFER, Port
from pondage.define.values.duration import parsed_duration

MAX_NODES = 500
MAX_EDGES = 2_000
MAX_DOCUMENT = 1_048_576
MAX_TEXT = 10_000
MAX_DEPTH = 40
"""How deep the JSON of a tree may be nested."""

MAX_PROBLEMS = 100
"""How many problems of one kind are told about a document, or about the parameters of one node."""

Format = Literal["arrow", "parquet", "ndjson", "csv", "bytes"]

CONST = ComponentDefinition(
    name="const",
    doc="Give what is written in the tree.",
    outputs={"out": Port(type=INFER)},
    deterministic=True,
    after=(),
    globals=(),
    entry="pondage.components.constants:const",
)
"""What a `const` node is an instance of; its params are those of the node: `type`, and `value`, `bytes` or `ref`."""


class TreeNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node: a program with its parameters, or a constant (then `prog` is empty)."""

    prog: str = ""
    params: dict[str, object] = {}
    const: dict[str, object] | None = None


class TreeEdge(msgspec.Struct, frozen=True, kw_only=True):
    """Data from an output to an input; `number` is its place in the document."""

    number: int
    source: str
    source_port: str
    target: str
    target_port: str
    max_in_flight_rows: int | None = None
    max_in_flight_bytes: int | None = None


class Extract(msgspec.Struct, frozen=True, kw_only=True):
    """An output that can be fetched as bytes, while the flow runs and for some time after it."""

    node: str
    port: str
    format: Format
    retention: str = "7d"

    @property
    def kept_us(self) -> int:
        """Answer its retention in microseconds."""
        return parsed_duration(self.retention)


class FlowFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the run of a tree knows beside its plan: what can be extracted, and of which type each of those is."""

    extracts: dict[str, Extract] = {}
    types: dict[str, str] = {}
    edges: dict[str, str] = {}
    """The type that was inferred for each edge, by `node.output node.input`."""

    @property
    def kept_us(self) -> int | None:
        """Answer how long the longest of its extracts is kept after the end; None when it has none."""
        return max((one.kept_us for one in self.extracts.values()), default=None)


class FlowLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What the whole flow may take."""

    timeout_s: float | None = None
    max_in_flight_rows: int | None = None
    max_in_flight_bytes: int | None = None


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    """A tree as its document says it."""

    nodes: dict[str, TreeNode]
    edges: tuple[TreeEdge, ...] = ()
    extracts: dict[str, Extract] = {}
    limits: FlowLimits = FlowLimits()
    file: str = ""


class FlowRefused(JobRefused):
    """The tree cannot run: `problems` holds everything that is wrong, each with the JSON pointer to its place."""

    code = "FLOW_REFUSED"

    def __init__(self, problems: Sequence[JobProblem]) -> None:
        pointed = (
            one if one.path is not None else msgspec.structs.replace(one, path=one.place.path) for one in problems
        )
        super().__init__(sorted(dict.fromkeys(pointed), key=_order))
        self.hint = "see all of them: pondage flow check FILE"


def _order(problem: JobProblem) -> tuple[list[tuple[int, str]], str, str]:
    """Sort by pointers, numbers in them by their value."""
    steps = (problem.path or "").split("/")
    return (
        [(int(step), "") if step.isdecimal() and len(step) < 9 else (-1, step) for step in steps],
        problem.code,
        problem.message,
    )
