"""Routes of flows: trees as data, how they go, what they give."""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec

from pondage.components.registry import built_in, built_in_schemas
from pondage.define.job.component import Registry
from pondage.define.job.flow import MAX_DOCUMENT, FlowRefused
from pondage.define.job.job import JobProblem
from pondage.define.types.type_registry import BUILT_IN
from pondage.define.values.names import checked_name
from pondage.ledger.act import extracts, flow_constants, flows, jobs
from pondage.ledger.act.exposed import given
from pondage.ledger.commit import inferred_types
from pondage.ledger.tables.job_plans import StoredJob
from pondage.plan.flow.code import code_of
from pondage.plan.flow.draft import Draft, draft
from pondage.plan.flow.planner import PlannedFlow, plan_flow
from pondage.plan.job.inference import Inference, planned_with_answers
from pondage.plan.job.stored_job import stored_job
from pondage.project.tree import load_tree
from pondage.server.demanding import Plain
from pondage.server.jobs import Started
from pondage.server.levels import Level
from pondage.server.problems import Refused
from pondage.server.reading import Count
from pondage.server.table import Call, Moment, Route
from pondage.views.jobs.flows import FlowDetail, FlowsView, StoredConstant, flow_run, list_flows
from pondage.work.inference import Inferred, Question

LOOK_AGAIN_S = 0.5
LONGEST_WAIT_S = 600.0


class FlowsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which flows."""

    name: str | None = None
    limit: Count = 20


class ExtractQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From which byte on, and whether to wait for what has not come yet."""

    offset: Moment = 0
    wait: bool = False


class TreeBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tree as its document says, of programs of the library and of what is deployed, and the name of the flow."""

    tree: msgspec.Raw
    name: str = "flow"


class ConstantBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The octets of a constant, base64."""

    data: bytes


class StopBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One node, or all."""

    node: str | None = None


class CleanedUpView(msgspec.Struct, frozen=True, kw_only=True):
    """How many tables between nodes go."""

    tables: int


def _list(call: Call) -> FlowsView:
    query = call.asked(FlowsQuery)
    with call.ledger.reading() as tx:
        return list_flows(tx, call.ledger, call.environment, name=query.name, limit=query.limit)


def _show(call: Call) -> FlowDetail:
    with call.ledger.reading() as tx:
        return flow_run(tx, call.ledger, call.environment, call.path["run"])


def _store(call: Call) -> StoredConstant:
    sent = call.sent(ConstantBody)
    return StoredConstant(ref=flow_constants.store(call.ledger, call.environment, sent.data, by=call.by(sent.note)))


def _submit(call: Call) -> Started:
    sent = call.sent(TreeBody)
    stored = _planned(call, sent)
    run = jobs.start_job(call.ledger, call.environment, stored, reason="submitted by the API", by=call.by(sent.note))
    return Started(run=run)


class PlannedTree(msgspec.Struct, frozen=True, kw_only=True):
    """A planned tree, with the components that it was planned with and the code that all of it runs with."""

    flow: PlannedFlow
    registry: Registry
    code: str


def _planned(call: Call, sent: TreeBody) -> StoredJob:
    try:
        planned = planned_tree(call, bytes(sent.tree), name=sent.name)
    except FlowRefused as error:
        raise _refused(error.problems) from error
    return stored_job(planned.flow.plan, planned.registry, archive=planned.code, file="", flow=planned.flow.facts)


def planned_tree(call: Call, document: bytes, *, name: str) -> PlannedTree:
    """Check a tree and plan it with the library and what is deployed; raises FlowRefused with all that is wrong.

    Of the types that only Spark knows it has those that somebody has asked for.
    """
    name = checked_name(name, what="flow")
    project = call.service.project
    loaded = load_tree(document, file="the tree")
    if loaded.tree is None:
        raise FlowRefused(loaded.problems)
    with call.ledger.reading() as tx:
        deployed = given(tx, call.environment)
    registry, code = code_of(loaded.tree, {**deployed.components, **built_in()})
    tree = loaded.tree

    def plan(inference: Inference) -> PlannedFlow:
        return plan_flow(
            tree,
            registry,
            schemas=built_in_schemas(),
            types={**BUILT_IN, **({} if project is None else project.types), **deployed.types},
            locations={} if project is None else project.locations,
            secrets={} if project is None else project.secrets,
            name=name,
            inference=inference,
        )

    def known(questions: tuple[Question, ...]) -> list[Inferred]:
        with call.ledger.reading() as tx:
            return inferred_types.known(tx, call.environment, [one.key for one in questions])

    return PlannedTree(flow=planned_with_answers(plan, known), registry=registry, code=code)


def drafted_tree(call: Call, document: bytes, *, port: str) -> Draft:
    """Answer what is known of a tree that need not be whole; nothing of what is no tree."""
    project, loaded = call.service.project, load_tree(document, file="the tree")
    if loaded.tree is None:
        return Draft()
    with call.ledger.reading() as tx:
        deployed = given(tx, call.environment)
    return draft(
        loaded.tree,
        {**deployed.components, **built_in()},
        port=port,
        schemas=built_in_schemas(),
        types={**BUILT_IN, **({} if project is None else project.types), **deployed.types},
        locations={} if project is None else project.locations,
    )


def _refused(problems: list[JobProblem] | tuple[JobProblem, ...]) -> Refused:
    lines = [f"{one.path or '/'}: {one.message} [{one.code}]" for one in problems[:20]]
    return Refused(422, "FLOW_REFUSED", "; ".join(lines), place=problems[0].path or None)


def _stop(call: Call) -> FlowDetail:
    flows.stop(
        call.ledger, call.environment, call.path["run"], call.sent(StopBody).node, by=call.by(call.sent(StopBody).note)
    )
    return _show(call)


def _clean_up(call: Call) -> CleanedUpView:
    tables = flows.clean_up(call.ledger, call.environment, call.path["run"], by=call.by(call.sent(Plain).note))
    return CleanedUpView(tables=tables)


def _extract(call: Call) -> Iterator[bytes]:
    from pondage.connect.extraction import extracted

    query = call.asked(ExtractQuery)
    with call.ledger.reading() as tx:
        one = extracts.find(tx, call.ledger, call.environment, call.path["run"], call.path["name"])
    until_s = time.monotonic() + LONGEST_WAIT_S

    def wait() -> None:
        if time.monotonic() > until_s:
            raise Refused(408, "EXTRACT_WAITS", "it has not come within ten minutes", hint="ask again with an offset")
        time.sleep(LOOK_AGAIN_S)

    return extracted(call.ledger, one, offset=query.offset, wait=wait if query.wait else None)


ROUTES = (
    Route(
        method="POST",
        path="/v1/flows/constants",
        level=Level.OPERATE,
        handler=_store,
        request=ConstantBody,
        response=StoredConstant,
        summary="Keep a constant of at most 8 MiB, and answer what a tree calls it.",
        status=201,
        limit_bytes=2 * flow_constants.MAX_BYTES,
    ),
    Route(
        method="GET",
        path="/v1/flows",
        level=Level.READ,
        handler=_list,
        query=FlowsQuery,
        response=FlowsView,
        summary="The newest flows.",
    ),
    Route(
        method="GET",
        path="/v1/flows/{run}",
        level=Level.READ,
        handler=_show,
        response=FlowDetail,
        summary="A flow in full: its nodes, why they failed, what can be extracted.",
    ),
    Route(
        method="POST",
        path="/v1/flows",
        level=Level.OPERATE,
        handler=_submit,
        request=TreeBody,
        response=Started,
        summary="Check a tree of programs of the library and of what is deployed, and run it.",
        status=202,
        limit_bytes=MAX_DOCUMENT + 10_000,
    ),
    Route(
        method="POST",
        path="/v1/flows/{run}/stop",
        level=Level.OPERATE,
        handler=_stop,
        request=StopBody,
        response=FlowDetail,
        summary="Ask a node, or all of a flow, to close its outputs and return.",
    ),
    Route(
        method="POST",
        path="/v1/flows/{run}/cleanup",
        level=Level.OPERATE,
        handler=_clean_up,
        request=Plain,
        response=CleanedUpView,
        summary="Let what a finished flow left between its nodes go now.",
    ),
    Route(
        method="GET",
        path="/v1/flows/{run}/extracts/{name}",
        level=Level.READ,
        handler=_extract,
        query=ExtractQuery,
        response=bytes,
        summary="An output of a flow as bytes, from an offset on.",
        media="application/octet-stream",
    ),
)
