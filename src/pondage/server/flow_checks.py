"""`POST /v1/flows/check`: everything that is wrong with a tree, each with its place; or the types on its edges.

A tree that is not whole yet is told what is known of it, and what may be connected with one of its ports.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from pondage.define.job.flow import MAX_DOCUMENT, FlowRefused
from pondage.define.job.job import JobProblem
from pondage.plan.flow.draft import Draft, Fit
from pondage.plan.flow.planner import PlannedFlow
from pondage.server.flows import drafted_tree, planned_tree
from pondage.server.levels import Level
from pondage.server.table import Call, Route


class CheckBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tree as somebody writes it: the text need not be JSON yet."""

    text: Annotated[str, msgspec.Meta(max_length=MAX_DOCUMENT)]
    name: str = "flow"
    port: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """An output or an input (`node.port`) that somebody wants to connect."""


class FlowProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong, and the JSON pointer to where."""

    code: str
    pointer: str
    message: str


class FlowNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the tree; `program` is the component that it is planned as."""

    name: str
    program: str


class FlowEdge(msgspec.Struct, frozen=True, kw_only=True):
    """What travels from an output to an input."""

    source: str
    target: str
    type: str
    is_stream: bool


class FlowExtract(msgspec.Struct, frozen=True, kw_only=True):
    """An output that can be fetched."""

    source: str
    format: str
    type: str


class FlowCheckView(msgspec.Struct, frozen=True, kw_only=True):
    """A tree that fits (`plan` is its digest), or the problems that it has. `unresolved` is known only to Spark.

    `types` has what is known of outputs even so, and `fits` what may be connected with the port that was asked about.
    """

    ok: bool
    plan: str = ""
    problems: tuple[FlowProblem, ...] = ()
    nodes: tuple[FlowNode, ...] = ()
    edges: tuple[FlowEdge, ...] = ()
    extracts: dict[str, FlowExtract] = {}
    unresolved: tuple[str, ...] = ()
    types: dict[str, str] = {}
    fits: dict[str, Fit] = {}


def _check(call: Call) -> FlowCheckView:
    sent = call.sent(CheckBody)
    document = sent.text.encode()
    known = drafted_tree(call, document, port=sent.port)
    try:
        planned = planned_tree(call, document, name=sent.name)
    except FlowRefused as error:
        problems = tuple(_problem(one) for one in error.problems)
        return FlowCheckView(ok=False, problems=problems, types=known.types, fits=known.fits)
    return _fits(planned.flow, known)


def _problem(one: JobProblem) -> FlowProblem:
    return FlowProblem(code=one.code, pointer=one.path or "", message=one.message)


def _fits(planned: PlannedFlow, known: Draft) -> FlowCheckView:
    return FlowCheckView(
        ok=True,
        plan=planned.plan.hash,
        nodes=tuple(FlowNode(name=each.name, program=each.type) for each in planned.plan.components),
        edges=tuple(
            FlowEdge(source=each.source, target=each.target, type=each.type, is_stream=each.is_stream)
            for each in planned.edges
        ),
        extracts={
            name: FlowExtract(source=f"{one.node}.{one.port}", format=one.format, type=planned.extract_types[name])
            for name, one in planned.extracts.items()
        },
        unresolved=planned.unresolved,
        types=known.types,
        fits=known.fits,
    )


ROUTES = (
    Route(
        method="POST",
        path="/v1/flows/check",
        level=Level.READ,
        handler=_check,
        request=CheckBody,
        response=FlowCheckView,
        summary="Everything that is wrong with a tree, or the types on its edges; nothing is stored.",
        limit_bytes=2 * MAX_DOCUMENT,
    ),
)
