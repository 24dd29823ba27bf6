"""Flows: trees as data that run, how they go, what they give. A flow is a run of a job, and goes on as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated

import msgspec

from pondage.engine.services.vacuum import orphan_grace_s
from pondage.errors import NotFound
from pondage.ledger.act import extracts, flow_constants, flows, jobs
from pondage.ledger.tables import job_runs
from pondage.operations.jobs import KillRequest, Started
from pondage.operations.operation import Context, Level, LimitRequest, Moment, NotedRequest, Request, operation
from pondage.operations.runs import RunRequest
from pondage.operations.trees import planned_tree
from pondage.plan.job.stored_job import stored_job
from pondage.views.jobs.flows import FlowDetail, FlowsView, StoredConstant, flow_run, list_flows

LOOK_AGAIN_S = 2.0


class FlowsRequest(LimitRequest, frozen=True, kw_only=True):
    """Which flows."""

    name: str | None = None


class RefRequest(Request, frozen=True, kw_only=True):
    """What a tree calls a stored constant: `sha256:…`."""

    ref: Annotated[str, msgspec.Meta(max_length=200)]


class ConstantRequest(NotedRequest, frozen=True, kw_only=True):
    """The octets of a constant, base64."""

    data: bytes


class TreeRequest(NotedRequest, frozen=True, kw_only=True):
    """A tree as its document says, of programs of the library and of what is deployed, and the name of the flow."""

    tree: msgspec.Raw
    name: str = "flow"


class StopRequest(KillRequest, frozen=True, kw_only=True):
    """One node, or all."""

    node: str | None = None


class ExtractRequest(RunRequest, frozen=True, kw_only=True):
    """An output: from which byte on, and whether to wait for what has not come yet."""

    name: str
    offset: Moment = 0
    wait: bool = False


class CleanedUpView(msgspec.Struct, frozen=True, kw_only=True):
    """How many tables and streams between nodes go, and when: no file before, and then by the next vacuum."""

    tables: int
    streams: int
    files_go_at: int


@operation("POST /v1/flows/constants", Level.OPERATE, ConstantRequest, status=201)
def flow_store(context: Context, asked: ConstantRequest) -> StoredConstant:
    """Keep a constant of at most 8 MiB, and answer what a tree calls it."""
    ref = flow_constants.store(context.ledger, context.environment, asked.data, by=context.by)
    return StoredConstant(ref=ref)


@operation("GET /v1/flows/constants/{ref}", Level.READ, RefRequest)
def flow_constant(context: Context, asked: RefRequest) -> StoredConstant:
    """Is this constant stored? Raises `NotFound` (UNKNOWN_REF)."""
    with context.ledger.reading() as tx:
        if flow_constants.data_of(tx, asked.ref) is None:
            raise NotFound("nobody has stored this constant", hint="pondage flow store FILE", code="UNKNOWN_REF")
    return StoredConstant(ref=asked.ref)


@operation("GET /v1/flows", Level.READ, FlowsRequest)
def flow_list(context: Context, asked: FlowsRequest) -> FlowsView:
    """The newest flows."""
    with context.ledger.reading() as tx:
        return list_flows(tx, context.ledger, context.environment, name=asked.name, limit=asked.limit)


@operation("GET /v1/flows/{run}", Level.READ, RunRequest)
def flow_show(context: Context, asked: RunRequest) -> FlowDetail:
    """A flow in full: its nodes, why they failed, what can be extracted."""
    return _shown(context, asked.run)


@operation("POST /v1/flows", Level.OPERATE, TreeRequest, status=202)
def flow_submit(context: Context, asked: TreeRequest) -> Started:
    """Check a tree of programs of the library and of what is deployed, and run it."""
    found, registry, code = planned_tree(context, bytes(asked.tree), asked.name)
    stored = stored_job(found.plan, registry, archive=code, file="", flow=found.facts)
    run = jobs.start_job(context.ledger, context.environment, stored, reason="submitted by the API", by=context.by)
    return Started(run=run)


@operation("POST /v1/flows/{run}/stop", Level.OPERATE, StopRequest)
def flow_stop(context: Context, asked: StopRequest) -> FlowDetail:
    """Ask a node, or all of a flow, to close its outputs and return."""
    flows.stop(context.ledger, context.environment, asked.run, asked.node, by=context.by)
    return _shown(context, asked.run)


@operation("POST /v1/flows/{run}/kill", Level.OPERATE, KillRequest)
def flow_kill(context: Context, asked: KillRequest) -> FlowDetail:
    """End a flow without its verdict: nothing starts any more; the second time at once."""
    with context.ledger.reading() as tx:
        found = job_runs.find_flow(tx, context.environment, asked.run).public_id
    jobs.kill(context.ledger, context.environment, found, by=context.by, is_flow=True)
    return _shown(context, found)


@operation("POST /v1/flows/{run}/cleanup", Level.OPERATE, KillRequest)
def flow_cleanup(context: Context, asked: KillRequest) -> CleanedUpView:
    """Let what a finished flow left between its nodes go now."""
    done = flows.clean_up(context.ledger, context.environment, asked.run, by=context.by)
    grace_us = int(orphan_grace_s(context.ledger) * 1_000_000)
    return CleanedUpView(tables=done.tables, streams=done.streams, files_go_at=done.at + grace_us)


@operation("GET /v1/flows/{run}/extracts/{name}", Level.READ, ExtractRequest)
def flow_extract(context: Context, asked: ExtractRequest) -> Iterator[bytes]:
    """An output of a flow as bytes, from an offset on."""
    changes = context.ledger.driver.changes()

    def again() -> None:
        changes.wait(LOOK_AGAIN_S)

    try:
        yield from extract(context, asked, again)
    finally:
        changes.close()


def extract(context: Context, asked: ExtractRequest, again: Callable[[], None]) -> Iterator[bytes]:
    """Answer an output as bytes; at the head it waits by `again`, if that was asked for, until the output has ended."""
    from pondage.connect.extraction import extracted

    with context.ledger.reading() as tx:
        one = extracts.find(tx, context.ledger, context.environment, asked.run, asked.name)
    return extracted(context.ledger, one, offset=asked.offset, wait=again if asked.wait else None)


def _shown(context: Context, run: str) -> FlowDetail:
    with context.ledger.reading() as tx:
        return flow_run(tx, context.ledger, context.environment, run)
