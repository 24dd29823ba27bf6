"""A Job as the body of a Ripple: the Ripple's dispatch has no execution, the run's last transaction closes it.

What the run wrote to its output `main` becomes the Ripple's snapshot in that same transaction, with the report. A
dispatch that was closed before (killed, timed out) publishes nothing.
"""

from __future__ import annotations

import msgspec

from pondage.define.pond.definition import PondDefinition, RippleDefinition
from pondage.kernel.control import State
from pondage.kernel.control.events import Kill
from pondage.kernel.control.reading import components_of
from pondage.kernel.control.state import JobState
from pondage.kernel.demand.events import Done, Fail
from pondage.ledger.data import run_tables, snapshots
from pondage.ledger.data.inputs import RippleInputs, ripple_inputs
from pondage.ledger.data.run_tables import RunTable
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions
from pondage.ledger.queue.executions import Dispatch
from pondage.ledger.step import contracts
from pondage.ledger.tables import actors, job_plans, job_runs
from pondage.ledger.tables.job_plans import JobVersion, StoredJob
from pondage.ledger.tables.job_runs import JobRunRow
from pondage.work.component import Publication
from pondage.work.failure import Failure
from pondage.work.snapshot import SnapshotContent
from pondage.work.upkeep import Upkeep

MAIN = "main"
"""The output of the job that is the Ripple's table."""

_jobs = msgspec.json.Decoder(StoredJob)


def start(
    tx: Transaction,
    ledger: Ledger,
    work: Dispatch,
    definition: PondDefinition,
    ripple: RippleDefinition,
    *,
    delay_us: int,
) -> int:
    """Write the dispatch and a run of its job, and answer the run's actor, to which Start is sent."""
    assert ripple.job is not None, f"{definition.name}.{ripple.name} names a job that was never planned"
    stored = _with_limits(_jobs.decode(ripple.job), definition, ripple)
    return job_runs.begin(
        tx,
        stored,
        public_id=ledger.ids.new("j"),
        environment=work.environment,
        definition=job_plans.store(tx, stored),
        context={"env": actors.environment_name(tx, work.environment), **stored.plan.context, **ripple.parameters},
        reason=f"{definition.name}.{ripple.name}",
        dispatch=executions.dispatch_without_execution(tx, work),
        delay_us=delay_us,
    )


def _with_limits(stored: StoredJob, definition: PondDefinition, ripple: RippleDefinition) -> StoredJob:
    """Answer the job with the code, the labels, the pool and the timeout of the Ripple that it is the body of."""
    plan, config = stored.plan, stored.plan.config
    limits = [limit for limit in (ripple.timeout_s, config.timeout_s) if limit is not None]
    config = msgspec.structs.replace(config, timeout_s=min(limits, default=None))
    return msgspec.structs.replace(
        stored,
        plan=msgspec.structs.replace(plan, config=config),
        archive=definition.archive,
        labels=definition.labels,
        pool=definition.pool or "",
    )


def kill(tx: Transaction, dispatch: int) -> int | None:
    """Tell the run of a dispatch that was cancelled to end, and answer its actor; None when there is none."""
    row = tx.row(
        "SELECT id, actor FROM job_runs WHERE dispatch = :id AND ended_at IS NULL", tuple[int, int], id=dispatch
    )
    if row is None:
        return None
    run, actor = row
    # Whoever is just beginning it holds its actor: then it has begun by the time that it hears of this.
    if tx.row("SELECT id FROM actors WHERE id = :id AND version = 0 /*lock skip*/", id=actor) is not None:
        # Its beginning is delayed, so there is nothing that could end.
        tx.change("DELETE FROM signals WHERE actor = :actor", actor=actor)
        job_runs.end(tx, run, state=JobState.ABORTED.value, code="KILLED")
        return None
    # A halted run reads no signals, so its halt is taken away directly.
    actors.unhalt(tx, actor)
    actors.put_signal(tx, actor=actor, kind="kill", payload=msgspec.json.encode(Kill()).decode())
    return actor


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """What a run that is a Ripple's body reads, and where the table goes that it makes."""

    inputs: dict[str, SnapshotContent | None]
    publication: Publication


def body_of(tx: Transaction, ledger: Ledger, run: JobRunRow) -> Body | None:
    """Answer the pinned inputs and the place of the output; None for a run that is no Ripple's body."""
    if run.dispatch is None:
        return None
    node, freshness, body = tx.one(
        "SELECT node, freshness, inputs FROM dispatches WHERE id = :id", tuple[str, int, str], id=run.dispatch
    )
    inputs = ripple_inputs(body)
    wanted = [identity for identity in inputs.snapshots.values() if identity is not None]
    read, contract = snapshots.for_ripple(tx, wanted, pond=inputs.pond_id, ripple=node)
    if contract is None and ledger.has_parent(tx, run.environment):
        contract = contracts.promised_above(tx, run.environment, inputs.pond, node)
    ripple = ledger.definition(tx, inputs.definition).ripple(node)
    tables = {
        parameter: None if identity is None else read[identity] for parameter, identity in inputs.snapshots.items()
    }
    rules = ripple.expectations
    return Body(
        inputs=tables,
        publication=Publication(
            dataset_id=inputs.dataset_id,
            run_id=inputs.run_id,
            where=f"{inputs.pond}.{ripple.name}",
            contract=contract,
            batch=contracts.batch_of(tx, ledger, ledger.definition(tx, inputs.definition), inputs.pond_id, node),
            expectations=rules,
            freshness=freshness,
            volumes=snapshots.volumes(tx, inputs.dataset, max((rule.of_last for rule in rules), default=0)),
            tables={rule.input: tables.get(rule.input) for rule in rules if rule.kind == "foreign_key"},
        ),
    )


class _Closed(msgspec.Struct, frozen=True, kw_only=True):
    actor: int
    run: int
    node: str
    number: int
    freshness: int
    inputs: str
    digest: str


def close(
    tx: Transaction, ledger: Ledger, run: JobRunRow, version: JobVersion, *, state: JobState, code: str | None
) -> int | None:
    """Close the dispatch that a run is the body of, publish its table, and tell the Pond; answer the Pond's actor.

    None: the run is nobody's body, or its dispatch was closed before, and then nothing is published.
    """
    if run.dispatch is None:
        return None
    table = _main_table(tx, run, version) if state is JobState.OK else None
    failure = None if table is not None else _failure(tx, run, version, state, code)
    row = tx.row(
        """UPDATE dispatches SET outcome = :outcome, result = :result, closed_at = :now
           WHERE id = :id AND outcome IS NULL
           RETURNING actor, run, node, number, freshness, inputs, digest""",
        _Closed,
        id=run.dispatch,
        outcome="ok" if failure is None else "failed",
        result=failure,
    )
    if row is None:
        return None
    inputs = ripple_inputs(row.inputs)
    event: Done | Fail
    if table is None:
        assert failure is not None
        event = Fail(pond=inputs.pond, ripple=row.node, attempt=row.number, error=failure)
    else:
        _publish(tx, ledger, run, row, inputs, table)
        event = Done(pond=inputs.pond, ripple=row.node, attempt=row.number)
    actors.put_signal(
        tx,
        actor=row.actor,
        kind=type(event).__name__.lower(),
        pond=inputs.pond,
        payload=msgspec.json.encode(event).decode(),
    )
    return row.actor


def _main_table(tx: Transaction, run: JobRunRow, version: JobVersion) -> RunTable | None:
    component, port = version.stored.plan.outputs[MAIN]
    return run_tables.find(tx, run.id, component, port)


def _publish(
    tx: Transaction, ledger: Ledger, run: JobRunRow, row: _Closed, inputs: RippleInputs, table: RunTable
) -> None:
    content = table.content
    if ledger.definition(tx, inputs.definition).mode == "auto":
        said = "everything was computed: the body of the Ripple is a job"
        content = msgspec.structs.replace(content, upkeep=Upkeep(how="full", said=said, code=""))
    snapshots.insert(
        tx,
        public_id=ledger.ids.new("s"),
        dataset_id=inputs.dataset,
        run=row.run,
        execution=table.execution,
        freshness=row.freshness,
        kind="full",
        content=content,
        inputs=msgspec.json.encode(inputs.snapshots).decode(),
        digest=row.digest,
    )
    snapshots.put_written(
        tx,
        run=row.run,
        pond=inputs.pond_id,
        node=row.node,
        freshness=row.freshness,
        execution=table.execution,
    )
    # From now on the files are the snapshot's: they live as long as it does, not as long as the job's run.
    run_tables.hand_over(tx, run.id, table)


def _failure(tx: Transaction, run: JobRunRow, version: JobVersion, state: JobState, code: str | None) -> str:
    """Answer why the Ripple failed: the first component that did, or what ended the job."""
    shown = f"job {run.job} ({run.public_id})"
    if state is JobState.OK:
        component, port = version.stored.plan.outputs[MAIN]
        message = f"{shown} ended OK, but {component} wrote nothing to {port}: it did not run"
        return _encoded(Failure(code="NO_OUTPUT", message=message, place=version.stored.file or None))
    levels = job_runs.machine_rows(tx, run.actor, "level")
    rows = job_runs.machine_rows(tx, run.actor, "component")
    for name, component_row in components_of(version.index, levels, rows):
        if component_row.state is State.ERROR and (code is None or state is JobState.ERROR):
            message = f"{shown}: {name}: {component_row.cause}"
            found = Failure(code=component_row.code or "JOB_FAILED", message=message, place=version.stored.file or None)
            return _encoded(found)
    message = f"{shown} ended {state.value}" + (f": {code}" if code else "")
    return _encoded(Failure(code=code or "JOB_FAILED", message=message, place=version.stored.file or None))


def _encoded(failure: Failure) -> str:
    return msgspec.json.encode(failure).decode()
