"""What an operator does with jobs: start one, kill one, resume one. Each is one transaction."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pondage.errors import LedgerError, NotFound
from pondage.kernel.control import Index, collect, difference
from pondage.kernel.control.events import Event, Kill, Restore, Start
from pondage.kernel.control.resume import Difference, is_resumable
from pondage.kernel.control.shape import Virtual
from pondage.kernel.control.state import RunRow, State
from pondage.ledger.act import flow_constants
from pondage.ledger.data import run_tables, segments
from pondage.ledger.data.segments import Stream
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import advance
from pondage.ledger.step.actor import put_event
from pondage.ledger.tables import actors, history, job_plans, job_runs
from pondage.ledger.tables.archives import store_archive
from pondage.ledger.tables.history import Caller
from pondage.ledger.tables.job_plans import JobVersion, StoredJob
from pondage.ledger.tables.job_runs import JobRunRow, RunRows
from pondage.work.snapshot import SnapshotContent

_START = Start()


def _trusted(_content: SnapshotContent) -> bool:
    """Take the files for what they were."""
    return True


def start_job(
    ledger: Ledger,
    environment: str,
    job: StoredJob,
    *,
    context: dict[str, object] | None = None,
    archive: bytes = b"",
    reason: str = "by hand",
    by: Caller | None = None,
    start: Start = _START,
) -> str:
    """Begin a run of a job and answer its public id; what may start at once is dispatched in the same transaction.

    The job is stored under its digest, so it need not be deployed. `archive` is the code of its own components.
    `start` is for simulations, which have a clock and a budget of their own.
    """
    public_id = _new_id(ledger, job)
    _require_no_inputs(job)
    known = {"env": environment, "run_id": public_id, **job.plan.context, **(context or {})}
    with ledger.transaction() as tx:
        identity = actors.made_environment(tx, environment)
        if archive:
            store_archive(tx, job.archive, archive)
        job = flow_constants.resolved(tx, job)
        definition = job_plans.store(tx, job)
        run = job_runs.insert(
            tx, job, public_id=public_id, environment=identity, definition=definition, context=known, reason=reason
        )
        history.audit(tx, by, environment=identity, verb="job run", target=public_id)
        _begin(tx, ledger, run, [msgspec.structs.replace(start, context=known)])
    return public_id


def kill(ledger: Ledger, environment: str, public_id: str, *, by: Caller | None = None, is_flow: bool = False) -> None:
    """End a run: nothing starts any more, what runs is asked to stop and gets 30 s. A second call ends it at once.

    Raises `NotFound`, and `LedgerError` when the run is over.
    """
    with ledger.transaction() as tx:
        run = find(tx, environment, public_id)
        if run.ended_at is not None:
            raise LedgerError(f"run {public_id} is over: {run.state}", code="NOT_RUNNING")
        # A halted run reads no signals, so its halt is taken away directly.
        actors.unhalt(tx, run.actor)
        verb = "flow kill" if is_flow else "job kill"
        history.audit(tx, by, environment=run.environment, verb=verb, target=public_id)
        advance.report(tx, ledger, run.actor, process=None, event=Kill())


def resume(
    ledger: Ledger,
    environment: str,
    public_id: str,
    *,
    job: StoredJob | None = None,
    archive: bytes = b"",
    is_edited: bool = False,
    fresh_globals: bool = False,
    is_intact: Callable[[SnapshotContent], bool] = _trusted,
    by: Caller | None = None,
    start: Start = _START,
) -> str:
    """Begin a new run that takes over what an earlier one had finished, and answer its public id.

    `job` is what runs now; without it the job as it was. Another plan is refused unless `is_edited` says that the
    difference was seen; `is_intact` looks at the files of a table that would be taken over. Raises `NotFound`, and
    `LedgerError` with NOT_HALTED, RESUME_PLAN_MISMATCH or RESUME_HASH_MISMATCH.
    """
    with ledger.transaction() as tx:
        old = find(tx, environment, public_id)
        version = ledger.job(tx, old.definition)
        rows = RunRows(tx, old.actor)
        _require_halted(rows, old)
        job = version.stored if job is None else job
        if job.plan.hash != version.stored.plan.hash and not is_edited:
            raise LedgerError(
                f"the job is not the one that run {public_id} ran{_named(difference(version.index, Index(job.plan)))}",
                hint=f"see what changed and go on: pondage job resume {public_id} --file FILE --yes",
                code="RESUME_PLAN_MISMATCH",
            )
        if archive:
            store_archive(tx, job.archive, archive)
        definition = job_plans.store(tx, job)
        restore = collect(version.index, rows, Index(job.plan), fresh_globals=fresh_globals)
        context = _context(rows)
        new_id = _new_id(ledger, job)
        run = job_runs.insert(
            tx,
            job,
            public_id=new_id,
            environment=old.environment,
            definition=definition,
            context=context,
            reason="resumed",
            resumed_from=old.id,
        )
        _take_over(tx, old, run, restore, is_intact)
        _require_streams(tx, version, run, restore)
        history.audit(tx, by, environment=old.environment, verb="job resume", target=new_id, detail=public_id)
        _begin(tx, ledger, run, [msgspec.structs.replace(start, context=context), restore])
    return new_id


def _named(found: Difference) -> str:
    """Answer what was edited, for people who see nothing but the refusal."""
    sorts = (("changed", found.changed), ("added", found.added), ("removed", found.removed))
    text = "; ".join(f"{title} sub-jobs: {', '.join(names)}" for title, names in sorts if names)
    return f" ({text})" if text else ""


def resume_difference(ledger: Ledger, environment: str, public_id: str, job: StoredJob) -> Difference:
    """Answer which sub-jobs an edited job keeps, changes, adds and removes, without starting anything."""
    with ledger.reading() as tx:
        run = find(tx, environment, public_id)
        return difference(ledger.job(tx, run.definition).index, Index(job.plan))


def find(tx: Transaction, environment: str, public_id: str) -> JobRunRow:
    """Answer a run by its public id, or by the beginning of it when only one has it; raises `NotFound`."""
    identity = actors.environment(tx, environment)
    found = None if identity is None else job_runs.by_public_id(tx, identity, public_id)
    if found is None:
        raise NotFound(f"there is no run {public_id} of a job", hint="pondage job list", code="NO_SUCH_RUN")
    return found


def _new_id(ledger: Ledger, job: StoredJob) -> str:
    return ledger.ids.new("j" if job.flow is None else "f")


def _begin(tx: Transaction, ledger: Ledger, run: JobRunRow, events: list[Event]) -> None:
    for event in events:
        put_event(tx, actor=run.actor, event=event)
    advance.report(tx, ledger, run.actor, process=None, event=None)


def _require_halted(rows: RunRows, run: JobRunRow) -> None:
    if run.dispatch is not None:
        raise LedgerError(
            f"run {run.public_id} is the body of the Ripple {run.reason}, which is made as a whole",
            hint=f"pondage clear {run.reason.partition('.')[0]}",
            code="RUN_OF_RIPPLE",
        )
    if not is_resumable(rows):
        raise LedgerError(
            f"run {run.public_id} is {run.state}: only a run that ended ERROR or ABORTED can be resumed",
            code="NOT_HALTED",
        )


def _require_no_inputs(job: StoredJob) -> None:
    if job.plan.inputs:
        raise LedgerError(
            f"job {job.plan.name} has the inputs {', '.join(sorted(job.plan.inputs))}: only a Ripple can give them",
            hint='name it in a Pond: pond.job("name", "jobs/file.yaml")',
            code="JOB_HAS_INPUTS",
        )


def _context(rows: RunRows) -> dict[str, object]:
    state = rows.get("run", "")
    assert isinstance(state, RunRow)
    return state.context


def _take_over(
    tx: Transaction,
    old: JobRunRow,
    new: JobRunRow,
    restore: Restore,
    is_intact: Callable[[SnapshotContent], bool],
) -> None:
    """Give the new run the tables of everything that it need not repeat; whoever keeps a row keeps the files."""
    for table in run_tables.of_run(tx, old.id):
        if table.instance not in restore.components:
            continue
        is_same = not table.is_marked and run_tables.digest_of(table.content) == table.digest
        if not is_same or not is_intact(table.content):
            raise LedgerError(
                f"the output {table.port} of {table.instance} is not what was written",
                place=table.content.path,
                hint="run the job again from the beginning",
                code="RESUME_HASH_MISMATCH",
            )
        run_tables.insert(tx, new.id, table)
    segments.take_over(tx, old=old.id, new=new.id, instances=sorted(restore.components))


def _require_streams(tx: Transaction, version: JobVersion, new: JobRunRow, restore: Restore) -> None:
    """Raise when a stream of what is not repeated has gone: whoever reads it would wait for ever, or see nothing."""
    for instance, row in restore.components.items():
        shape = version.shape_of(instance)
        if row.state is not State.OK or shape.virtual is not Virtual.NONE or version.definition(shape).mode != "stream":
            continue
        for port in version.writes(shape, is_fused=False):
            _, has_ended = segments.end_of(tx, Stream(new.id, instance, port))
            if not has_ended:
                raise LedgerError(
                    f"the stream {port} of {instance} has gone: it was cleaned up, or its retention is over",
                    hint="run the job again from the beginning",
                    code="RESUME_HASH_MISMATCH",
                )
