"""Flows as people see them: the runs of trees, why nodes failed, and what can be extracted."""

from __future__ import annotations

import msgspec

from pondage.define.types.segment import Segment
from pondage.ledger.data import run_tables, segments
from pondage.ledger.data.segments import Stream
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import panics
from pondage.ledger.tables import actors, job_runs
from pondage.ledger.tables.job_plans import JobVersion
from pondage.ledger.tables.job_runs import JobRunRow
from pondage.views.jobs.jobs import JobRunDetail, JobRunView, job_run, run_view
from pondage.work.component import Panic


class FlowsView(msgspec.Struct, frozen=True, kw_only=True):
    """The newest flows of an environment."""

    environment: str
    at: int
    runs: tuple[JobRunView, ...]


class ExtractView(msgspec.Struct, frozen=True, kw_only=True):
    """An output that can be fetched. `state` is waiting, ready, gone, or lost when its node gave nothing."""

    name: str
    source: str
    format: str
    type: str
    state: str
    rows: int | None = None
    bytes: int | None = None
    until: int | None = None
    """When it goes: some time after the end of the flow."""


class StoredConstant(msgspec.Struct, frozen=True, kw_only=True):
    """What a tree calls a constant that is kept: `"const": {"ref": "sha256:…"}`."""

    ref: str


class FlowDetail(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a flow: the run, its panics, its extracts."""

    flow: JobRunDetail
    panics: tuple[Panic, ...]
    extracts: tuple[ExtractView, ...]
    cleaned_at: int | None = None


def list_flows(tx: Transaction, ledger: Ledger, environment: str, *, name: str | None, limit: int) -> FlowsView:
    """Answer the newest flows, of one name or of all."""
    identity = actors.environment(tx, environment)
    found = [] if identity is None else job_runs.newest(tx, identity, job=name, limit=limit, is_flow=True)
    return FlowsView(environment=environment, at=tx.now, runs=tuple(run_view(tx, ledger, run) for run in found))


def flow_run(tx: Transaction, ledger: Ledger, environment: str, given: str) -> FlowDetail:
    """Answer everything about a flow; raises `NotFound`."""
    run = job_runs.find_flow(tx, environment, given)
    version = ledger.job(tx, run.definition)
    detail = job_run(tx, ledger, environment, run.public_id)
    return FlowDetail(
        flow=detail,
        panics=tuple(panics.of_run(tx, run)),
        extracts=_extracts(tx, run, version, detail),
        cleaned_at=run.cleaned_at,
    )


def _extracts(tx: Transaction, run: JobRunRow, version: JobVersion, detail: JobRunDetail) -> tuple[ExtractView, ...]:
    facts = version.stored.flow
    states = {one.name: one.state for one in detail.components}
    found = []
    for name, one in facts.extracts.items() if facts is not None else ():
        table = run_tables.find(tx, run.id, one.node, one.port)
        stream = segments.read(tx, Stream(run.id, one.node, one.port))
        kept_us = version.kept_us(one.node, one.port)
        until = None if run.ended_at is None or kept_us is None else run.ended_at + kept_us
        is_there = (table is not None and not table.is_marked) or (bool(stream) and stream[-1].is_eos)
        is_ready = is_there and (until is None or until >= tx.now)
        sizes = [(table.content.rows, table.content.bytes)] if table is not None else _sizes(stream)
        has_ended = states[one.node] not in ("WAIT", "RUNNING") or run.ended_at is not None
        lost = "gone" if states[one.node] == "OK" else "lost"
        found.append(
            ExtractView(
                name=name,
                source=f"{one.node}.{one.port}",
                format=one.format,
                type=facts.types.get(name, "") if facts is not None else "",
                state="ready" if is_ready else lost if has_ended else "waiting",
                rows=sum(rows for rows, _ in sizes) if is_ready else None,
                bytes=sum(size for _, size in sizes) if is_ready else None,
                until=until,
            )
        )
    return tuple(found)


def _sizes(stream: list[Segment]) -> list[tuple[int, int]]:
    return [(one.rows, one.bytes) for one in stream]
