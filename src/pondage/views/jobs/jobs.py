"""Jobs and their runs as people see them: what `pondage job list` and `pondage job show` print."""

from __future__ import annotations

from collections import Counter

import msgspec

from pondage.errors import NotFound
from pondage.kernel.control.reading import components_of, result_values, values_of
from pondage.kernel.control.shape import Virtual
from pondage.kernel.control.state import LevelRow, State, SubRow
from pondage.ledger.data import run_tables
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import job_schedules
from pondage.ledger.step.job_inputs import component_inputs
from pondage.ledger.tables import actors, environments, job_runs
from pondage.ledger.tables.job_plans import JobVersion
from pondage.ledger.tables.job_runs import JobRunRow, RunRows
from pondage.views import find
from pondage.views.jobs.job_metrics import JobMetrics, job_metrics
from pondage.views.jobs.streams import StreamView, streams
from pondage.views.runs.active import Progress, read_progress


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A deployed job."""

    name: str
    version: str
    project: str
    plan: str
    components: int
    deployed_at: int
    schedule: str | None = None
    """The cron line and its zone by which it begins by itself."""
    next_at: int | None = None


class JobRunView(msgspec.Struct, frozen=True, kw_only=True):
    """A run in one line. `counts` says how many components are in each state."""

    id: str
    job: str
    state: str
    code: str | None
    reason: str
    resumed_from: str | None
    started_at: int
    ended_at: int | None
    counts: dict[str, int]
    is_flow: bool
    halted: str | None = None
    """Why its machine was stopped: a step of it raised again and again. A kill lets it go on and ends it."""


class JobsView(msgspec.Struct, frozen=True, kw_only=True):
    """The deployed jobs of an environment and the newest runs."""

    environment: str
    at: int
    jobs: tuple[JobView, ...]
    runs: tuple[JobRunView, ...]


CANCELLED = "CANCELLED"
"""The state of a component that still ran when its run ended: for the machine it stays RUNNING."""


class OutputView(msgspec.Struct, frozen=True, kw_only=True):
    """A table that a component wrote for others of the run."""

    port: str
    rows: int
    bytes: int
    path: str


class ComponentView(msgspec.Struct, frozen=True, kw_only=True):
    """One component instance. `work` says of a running one whether it waits for a worker.

    `state` is that of the machine, and CANCELLED of one that still ran when its run was aborted or killed. `deaths` is
    how often its process died, which counts in `crashes` only where it is to blame, and where it was tried last.
    """

    name: str
    type: str
    state: str
    cause: str = ""
    code: str = ""
    attempt: int = 0
    crashes: int = 0
    deaths: int = 0
    crash_budget: int = 0
    again_at: int | None = None
    """When it may be tried again after a crash or a failure, if that is still to come."""
    is_restored: bool = False
    work: str = ""
    started_at: int | None = None
    ended_at: int | None = None
    trace: str | None = None
    outputs: tuple[OutputView, ...] = ()
    progress: Progress | None = None
    """How far Spark is with it, or how far it came."""


class SubjobView(msgspec.Struct, frozen=True, kw_only=True):
    """A sub-job of the job's own level; `error` is the component whose ERROR was the first in one that failed."""

    name: str
    state: str
    error: str = ""


class JobRunDetail(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one run."""

    run: JobRunView
    version: str
    plan: str
    context: dict[str, object]
    components: tuple[ComponentView, ...]
    subjobs: tuple[SubjobView, ...]
    globals: dict[str, object]
    metrics: JobMetrics
    at: int
    streams: tuple[StreamView, ...] = ()


class _Trace(msgspec.Struct):
    trace: str | None = None


_traces = msgspec.json.Decoder(_Trace)


class _JobRow(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    name: str
    project: str
    definition: int
    deployed_at: int


def jobs(tx: Transaction, ledger: Ledger, environment: str, *, job: str | None = None, limit: int = 20) -> JobsView:
    """Answer the deployed jobs and the newest runs, of one job or of all; none in a ledger that is still empty."""
    if not environments.rows(tx):
        return JobsView(environment=environment, at=tx.now, jobs=(), runs=())
    identity = find.environment_id(tx, environment)
    deployed = tx.rows(
        "SELECT id, name, project, definition, deployed_at FROM jobs WHERE environment = :environment ORDER BY name",
        _JobRow,
        environment=identity,
    )
    return JobsView(
        environment=environment,
        at=tx.now,
        jobs=tuple(_job(tx, ledger, row) for row in deployed if job in (None, row.name)),
        runs=tuple(run_view(tx, ledger, run) for run in job_runs.newest(tx, identity, job=job, limit=limit)),
    )


def _job(tx: Transaction, ledger: Ledger, row: _JobRow) -> JobView:
    stored = ledger.job(tx, row.definition).stored
    plan, schedule = stored.plan, stored.schedule
    return of_row(
        JobView,
        row,
        version=plan.version,
        plan=plan.hash,
        components=len(plan.components),
        schedule=None if schedule is None else f"{schedule.cron} ({schedule.tz})",
        next_at=job_schedules.next_at(tx, row.id),
    )


def run_view(tx: Transaction, ledger: Ledger, run: JobRunRow) -> JobRunView:
    """Answer a run in one line."""
    found = _instances(tx, ledger, run)
    return _line(tx, run, Counter(component.state for component in found))


def _line(tx: Transaction, run: JobRunRow, counts: Counter[str]) -> JobRunView:
    earlier = None
    if run.resumed_from is not None:
        earlier = tx.row("SELECT public_id FROM job_runs WHERE id = :id", str, id=run.resumed_from)
    return of_row(
        JobRunView,
        run,
        id=run.public_id,
        resumed_from=earlier,
        counts=dict(sorted(counts.items())),
        halted=tx.row("SELECT halted FROM actors WHERE id = :id", str, id=run.actor),
    )


def job_run(tx: Transaction, ledger: Ledger, environment: str, given: str) -> JobRunDetail:
    """Answer everything about a run; raises `NotFound`."""
    run = find_run(tx, environment, given)
    version = ledger.job(tx, run.definition)
    components = _with_work(tx, run, _instances(tx, ledger, run))
    rows = RunRows(tx, run.actor)
    level = rows.get("level", "")
    is_over = run.ended_at is not None
    return JobRunDetail(
        run=_line(tx, run, Counter(component.state for component in components)),
        version=version.stored.plan.version,
        plan=version.stored.plan.hash,
        context=run.context,
        components=tuple(components),
        subjobs=_subjobs(tx, run, version),
        globals=result_values(rows.get)
        if is_over
        else values_of(level.view if isinstance(level, LevelRow) else "", rows.get),
        metrics=job_metrics(tx, run, version),
        at=tx.now,
        streams=streams(tx, run.id, version, ((one.name, one.state) for one in components)),
    )


def find_run(tx: Transaction, environment: str, given: str) -> JobRunRow:
    """Answer a run by its id, by the beginning of it, or by `JOB` for the newest run of a job; raises `NotFound`."""
    found = job_runs.called(tx, actors.environment(tx, environment), given)
    if not found:
        raise NotFound(f"there is no run {given!r} of a job", hint="pondage job list", code="NO_SUCH_RUN")
    if len(found) > 1 and found[0].job != given:
        raise NotFound(f"several runs begin with {given!r}", hint="pondage job list", code="AMBIGUOUS_RUN")
    return found[0]


def _instances(tx: Transaction, ledger: Ledger, run: JobRunRow) -> list[ComponentView]:
    version = ledger.job(tx, run.definition)
    levels, components = (job_runs.machine_rows(tx, run.actor, table) for table in ("level", "component"))
    found = []
    is_over = run.ended_at is not None
    for name, row in components_of(version.index, levels, components):
        shape = version.shapes[name.partition("[#")[0]]
        if shape.virtual is Virtual.NONE:
            found.append(
                ComponentView(
                    name=name,
                    type=shape.type,
                    state=CANCELLED if is_over and row.state is State.RUNNING else row.state.value,
                    cause=row.cause,
                    code=row.code,
                    attempt=row.attempt,
                    is_restored=row.is_restored,
                )
            )
    return found


_WORK = """SELECT d.inputs AS inputs, d.closed_at AS closed_at, d.crashes AS crashes,
                  d.crash_budget AS crash_budget,
                  (SELECT count(*) FROM executions x WHERE x.dispatch = d.id AND x.outcome = 'crashed') AS deaths,
                  (SELECT a.available_at FROM availabilities a WHERE a.execution = e.id) AS available_at,
                  e.claimed_at AS claimed_at, e.error AS error,
                  e.progress AS progress
           FROM dispatches d LEFT JOIN executions e
                ON e.id = (SELECT max(x.id) FROM executions x WHERE x.dispatch = d.id)
           WHERE d.kind = 'component' AND d.actor = :actor ORDER BY d.id"""


class _Worked(msgspec.Struct, frozen=True, kw_only=True):
    inputs: str
    closed_at: int | None
    crashes: int
    deaths: int
    crash_budget: int
    available_at: int | None
    claimed_at: int | None
    error: str | None
    progress: str | None


def _with_work(tx: Transaction, run: JobRunRow, components: list[ComponentView]) -> list[ComponentView]:
    work: dict[str, _Worked] = {}
    for row in tx.rows(_WORK, _Worked, actor=run.actor):
        # The members of a fused group share one execution.
        for member in component_inputs(row.inputs).members:
            earlier = work.get(member.instance)
            deaths = row.deaths + (0 if earlier is None else earlier.deaths)
            work[member.instance] = msgspec.structs.replace(row, deaths=deaths)
    outputs: dict[str, list[OutputView]] = {}
    for table in run_tables.of_run(tx, run.id):
        content = table.content
        outputs.setdefault(table.instance, []).append(
            OutputView(port=table.port, rows=content.rows, bytes=content.bytes, path=content.path)
        )
    found = []
    for component in components:
        known = work.get(component.name)
        component = msgspec.structs.replace(component, outputs=tuple(outputs.get(component.name, ())))
        found.append(component if known is None else _worked(component, known, tx.now))
    return found


def _worked(component: ComponentView, row: _Worked, now: int) -> ComponentView:
    claimed, ended, error = row.claimed_at, row.closed_at, row.error
    is_open = component.state == "RUNNING" and ended is None
    return msgspec.structs.replace(
        component,
        crashes=row.crashes,
        deaths=row.deaths,
        crash_budget=row.crash_budget,
        again_at=row.available_at if row.available_at is not None and row.available_at > now else None,
        work=("running" if claimed is not None else "queued") if is_open else "",
        started_at=claimed,
        ended_at=ended,
        trace=_traces.decode(error).trace if error is not None and component.state == "ERROR" else None,
        progress=read_progress(row.progress),
    )


def _subjobs(tx: Transaction, run: JobRunRow, version: JobVersion) -> tuple[SubjobView, ...]:
    rows = job_runs.machine_rows(tx, run.actor, "sub")
    found = []
    for place, sub in enumerate(version.stored.plan.subs):
        row = rows.get(f"/{place}")
        state = row.state.value if isinstance(row, SubRow) else "WAIT"
        state = CANCELLED if state == "RUNNING" and run.ended_at is not None else state
        error = row.error if isinstance(row, SubRow) else ""
        found.append(SubjobView(name=sub.name, state="PENDING" if state == "WAIT" else state, error=error))
    return tuple(found)
