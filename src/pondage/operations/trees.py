"""Trees as somebody writes them: everything that is wrong with one, each with its place; or the types on its edges.

A tree that is not whole yet is told what is known of it, and what may be connected with one of its ports.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from pondage.components.registry import built_in, built_in_schemas
from pondage.define.job.component import Registry
from pondage.define.job.flow import MAX_DOCUMENT, FlowRefused
from pondage.define.job.job import JobProblem
from pondage.define.types.type_registry import BUILT_IN
from pondage.define.values.names import checked_name
from pondage.ledger.act import flow_constants
from pondage.ledger.act.exposed import given
from pondage.ledger.tables import inferred_types
from pondage.operations.operation import Context, Level, Request, operation
from pondage.plan.flow.code import code_of
from pondage.plan.flow.draft import Draft, Fit, draft
from pondage.plan.flow.planner import PlannedFlow, plan_flow
from pondage.plan.job.inference import Inference, planned_with_answers
from pondage.project.current import current_secrets
from pondage.project.tree import load_tree
from pondage.work.inference import Inferred, Question


class TreeCheckRequest(Request, frozen=True, kw_only=True):
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


@operation("POST /v1/flows/check", Level.READ, TreeCheckRequest, kind="look")
def flow_check(context: Context, asked: TreeCheckRequest) -> FlowCheckView:
    """Everything that is wrong with a tree, or the types on its edges; nothing is stored."""
    document = asked.text.encode()
    known = _drafted(context, document, asked.port)
    try:
        found, _, _ = planned_tree(context, document, asked.name)
    except FlowRefused as error:
        problems = tuple(_problem(one) for one in error.problems)
        return FlowCheckView(ok=False, problems=problems, types=known.types, fits=known.fits)
    return _fits(found, known)


def planned_tree(context: Context, document: bytes, name: str) -> tuple[PlannedFlow, Registry, str]:
    """Check a tree and plan it with the library and what is deployed, and answer with which components and code.

    Of the types that only Spark knows it has those that somebody has asked for. Raises FlowRefused with all that is
    wrong.
    """
    name = checked_name(name, what="flow")
    project = context.project
    loaded = load_tree(document, file="the tree")
    if loaded.tree is None:
        raise FlowRefused(loaded.problems)
    with context.ledger.reading() as tx:
        deployed = given(tx, context.environment)
    registry, code = code_of(loaded.tree, {**deployed.components, **built_in()})
    tree = loaded.tree

    def plan(inference: Inference) -> PlannedFlow:
        return plan_flow(
            tree,
            registry,
            schemas=built_in_schemas(),
            types={**BUILT_IN, **({} if project is None else project.types), **deployed.types},
            locations={} if project is None else project.locations,
            secrets={} if project is None else current_secrets(project.root, project.secrets),
            name=name,
            inference=inference,
        )

    def known(questions: tuple[Question, ...]) -> list[Inferred]:
        with context.ledger.reading() as tx:
            return inferred_types.known(tx, context.environment, [one.key for one in questions])

    planned = planned_with_answers(plan, known)
    with context.ledger.reading() as tx:
        flow_constants.require_stored(tx, planned.plan)
    return planned, registry, code


def _drafted(context: Context, document: bytes, port: str) -> Draft:
    """Answer what is known of a tree that need not be whole; nothing of what is no tree."""
    project, loaded = context.project, load_tree(document, file="the tree")
    if loaded.tree is None:
        return Draft()
    with context.ledger.reading() as tx:
        deployed = given(tx, context.environment)
    return draft(
        loaded.tree,
        {**deployed.components, **built_in()},
        port=port,
        schemas=built_in_schemas(),
        types={**BUILT_IN, **({} if project is None else project.types), **deployed.types},
        locations={} if project is None else project.locations,
    )


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
