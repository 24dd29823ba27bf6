"""Runs that are not over: which Ripples wait, run or are done, and how far Spark is with each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from pondage.define.pond.definition import PondDefinition, RippleDefinition
from pondage.kernel.demand.state import PondState, RippleState
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.work.progress import StageView

RippleProgressState = Literal["waiting", "queued", "running", "done", "reused", "failed", "cancelled"]


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far an attempt is, as its worker last wrote it; `done` are its newest stages when it has ended."""

    phase: str = ""
    jobs: int = 0
    stages: int = 0
    tasks_done: int = 0
    tasks_all: int = 0
    done: tuple[StageView, ...] = ()


class RippleView(msgspec.Struct, frozen=True, kw_only=True):
    """One Ripple of a Run that is not over. `attempt` counts what the machine asked for, `epoch` its tries."""

    name: str
    state: RippleProgressState
    attempt: int | None = None
    epoch: int | None = None
    since_at: int | None = None
    available_at: int | None = None
    process: str | None = None
    process_state: str | None = None
    progress: Progress | None = None
    fused: tuple[str, ...] = ()
    job_run: str | None = None
    """Of a Ripple whose body is a job: the job's run."""
    reason: str = ""
    crashes: int = 0
    crash_budget: int = 0
    is_isolated: bool = False
    """It was near a crash, and is tried by a worker that holds nothing else."""


class ActiveRunView(msgspec.Struct, frozen=True, kw_only=True):
    """A Run that is not over, with every Ripple in the order of the definition."""

    id: str
    number: int
    freshness: int
    started_at: int
    reason: str
    ripples: tuple[RippleView, ...]

    @property
    def is_executing(self) -> bool:
        """Answer whether a worker holds any of it right now."""
        return any(ripple.state == "running" for ripple in self.ripples)


# The newest dispatch of each Ripple of each open Run, with its open execution and whoever holds it.
_WORK = """
SELECT r.id AS run, d.node AS node, d.number AS attempt, d.outcome AS outcome, d.created_at AS created_at,
       d.closed_at AS closed_at, d.reason AS reason, d.crashes AS crashes, d.crash_budget AS crash_budget,
       coalesce(e.is_isolated, 0) AS is_isolated, e.epoch AS epoch, e.claimed_at AS claimed_at, e.progress AS progress,
       a.available_at AS available_at, p.public_id AS process, p.state AS process_state,
       j.public_id AS job_run, j.started_at AS job_started_at
FROM runs r
JOIN dispatches d ON d.run = r.id
LEFT JOIN executions e ON e.dispatch = d.id AND e.completed_at IS NULL
LEFT JOIN availabilities a ON a.execution = e.id
LEFT JOIN processes p ON p.id = e.process
LEFT JOIN job_runs j ON j.dispatch = d.id
WHERE r.environment = :environment AND r.ended_at IS NULL
ORDER BY d.id"""

_OPEN = """
SELECT r.id AS row, r.public_id AS id, r.pond AS pond, r.number AS number, r.freshness AS freshness,
       r.started_at AS started_at, r.reason AS reason, d.body AS definition
FROM runs r JOIN definitions d ON d.id = r.definition
WHERE r.environment = :environment AND r.ended_at IS NULL AND r.pond IS NOT NULL
ORDER BY r.id"""


class _WorkRow(msgspec.Struct, frozen=True, kw_only=True):
    run: int
    node: str
    attempt: int
    outcome: str | None
    created_at: int
    closed_at: int | None
    epoch: int | None
    claimed_at: int | None
    progress: str | None
    available_at: int | None
    process: str | None
    process_state: str | None
    job_run: str | None
    reason: str
    crashes: int
    crash_budget: int
    is_isolated: bool
    job_started_at: int | None


class _OpenRun(ActiveRunView, frozen=True, kw_only=True):
    row: int
    pond: int
    definition: PondDefinition
    ripples: tuple[RippleView, ...] = ()


def active_runs(
    tx: Transaction, environment: int, states: Mapping[int, PondState]
) -> dict[int, tuple[ActiveRunView, ...]]:
    """Answer the open Runs of each Pond (by its row), oldest first. `states` are the Ponds' states by row."""
    work = {(row.run, row.node): row for row in tx.rows(_WORK, _WorkRow, environment=environment)}
    found: dict[int, list[ActiveRunView]] = {}
    for run in tx.rows(_OPEN, _OpenRun, environment=environment):
        known = states[run.pond].ripples if run.pond in states else {}
        ripples = tuple(
            _ripple(each, work.get((run.row, each.name)), known.get(each.name), run.freshness)
            for each in run.definition.ripples
        )
        found.setdefault(run.pond, []).append(of_row(ActiveRunView, run, ripples=ripples))
    return {pond: tuple(runs) for pond, runs in found.items()}


def _ripple(ripple: RippleDefinition, work: _WorkRow | None, known: RippleState | None, freshness: int) -> RippleView:
    name, fused = ripple.name, tuple(each.name for each in ripple.members)
    if work is None:
        # One execution may serve several Runs at once and is written down with the newest of them.
        return RippleView(name=name, fused=fused, state=_known_state(known, freshness))
    return of_row(
        RippleView,
        work,
        name=name,
        fused=fused,
        state=_work_state(work),
        since_at=work.closed_at or work.claimed_at or work.job_started_at or work.created_at,
        process_state=work.process_state or None,
        progress=read_progress(work.progress),
    )


def _known_state(known: RippleState | None, freshness: int) -> RippleProgressState:
    if known is None or known.start_f < freshness:
        return "waiting"
    if known.end_f >= freshness:
        return "done"
    return "running" if known.is_busy else "waiting"


def _work_state(work: _WorkRow) -> RippleProgressState:
    match work.outcome:
        case None:
            is_begun = work.claimed_at is not None or work.job_run is not None
            return "running" if is_begun else "queued"
        case "ok":
            return "done"
        case "reused":
            return "reused"
        case "cancelled":
            return "cancelled"
        case _:
            return "failed"


def read_progress(body: str | None) -> Progress | None:
    """Answer what a worker wrote about an attempt; None when it wrote nothing that can be read."""
    if body is None:
        return None
    try:
        return msgspec.json.decode(body, type=Progress)
    except msgspec.MsgspecError:
        # A worker of a newer version may write more than this one knows: progress is never worth an error.
        return None
