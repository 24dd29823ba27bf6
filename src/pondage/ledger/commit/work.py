"""A worker's two transactions: the claim, which brings along everything the work needs, and the guarded commit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import msgspec

from pondage.define.pond.definition import PondDefinition, RippleDefinition
from pondage.define.values.names import PondKey
from pondage.errors import LedgerError
from pondage.kernel.demand.events import Done, Event
from pondage.ledger.commit import compaction, guarded, increments, inferred_types, reactor_work
from pondage.ledger.commit.compaction import CompactTask, compact_task
from pondage.ledger.commit.query_tasks import QueryTask, query_task
from pondage.ledger.commit.reactor_work import FireTask, StreamTask
from pondage.ledger.commit.trials import InferTask, SampleTask, infer_task, sample_task
from pondage.ledger.data import manifests, snapshots
from pondage.ledger.data.inputs import RippleInputs, ripple_inputs
from pondage.ledger.database.driver import LedgerUnavailable, Transaction, number
from pondage.ledger.database.patience import persist
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import claims, executions, queues
from pondage.ledger.queue.claims import Claim, Queue
from pondage.ledger.queue.executions import Outcome
from pondage.ledger.queue.queues import Offer
from pondage.ledger.step.advance import Happening
from pondage.ledger.step.job_inputs import component_task
from pondage.ledger.step.reports import Failure as Failure
from pondage.ledger.step.reports import RuleFailure as RuleFailure
from pondage.ledger.step.reports import failure_event
from pondage.work.component import ComponentTask
from pondage.work.snapshot import SnapshotContent


class RippleTask(msgspec.Struct, frozen=True, kw_only=True):
    """A Ripple to be run, with everything it reads."""

    pond: PondKey
    definition: PondDefinition
    ripple: RippleDefinition
    run_id: str
    dataset_id: str
    freshness: int
    previous_freshness: int | None
    inputs: dict[str, SnapshotContent | None]
    contract: str | None
    idempotency_key: str
    volumes: tuple[int, ...] = ()
    """The rows of the last snapshots, newest first, as many as a rule asks for."""
    probe: str | None = None
    """What the probe answered for the newest snapshot; None when that snapshot cannot serve again anyway."""


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """A claimed execution and what it is about; exactly one of the tasks is given."""

    claim: Claim
    ripple: RippleTask | None = None
    query: QueryTask | None = None
    sample: SampleTask | None = None
    infer: InferTask | None = None
    component: ComponentTask | None = None
    compact: CompactTask | None = None
    fire: FireTask | None = None
    stream: StreamTask | None = None
    summary: str | None = None
    """When it has ended: what Spark did for it, as `executions.progress` keeps it."""


def _nothing(_tx: Transaction) -> None:
    """Write and report nothing beside the outcome."""


def never() -> bool:
    """Never give up."""
    return False


def queues_for(ledger: Ledger, *, code: str, labels: frozenset[str] = frozenset()) -> list[Queue]:
    """Answer the queues that a process with this code and these labels may claim from. Queries need no code."""
    with ledger.reading() as tx:
        return [claims.as_queue(row) for row in queues.served(tx, Offer(code=code, labels=labels))]


def archive(ledger: Ledger, digest: str) -> bytes:
    """Answer a deployed code archive; raises `LedgerError` when it is not there."""
    with ledger.reading() as tx:
        return stored_archive(tx, digest)


def stored_archive(tx: Transaction, digest: str) -> bytes:
    """Answer a code archive; raises `LedgerError` when it is not there."""
    row = tx.row("SELECT data FROM archives WHERE digest = :digest", digest=digest)
    if row is None or not isinstance(row["data"], bytes):
        raise LedgerError(f"code archive {digest[:12]} is not in the ledger", code="NO_ARCHIVE")
    return row["data"]


def claim_work(
    ledger: Ledger,
    *,
    process: int,
    queues: list[Queue],
    token: str,
    is_alone: bool,
    give_up: Callable[[], bool] = never,
) -> Work | None:
    """Claim the best piece of work, in one transaction, or None.

    When the database fails in the middle the token is looked up: a claim that was made is ours, and is answered.
    """
    try:
        with ledger.transaction() as tx:
            claim = claims.claim(tx, process=process, queues=queues, token=token, is_alone=is_alone)
            return None if claim is None else _work(tx, ledger, claim)
    except LedgerUnavailable:
        return persist(lambda: _resolved(ledger, token), give_up=give_up)


def _resolved(ledger: Ledger, token: str) -> Work | None:
    with ledger.reading() as tx:
        claim = claims.find(tx, token)
        return None if claim is None else _work(tx, ledger, claim)


def _work(tx: Transaction, ledger: Ledger, claim: Claim) -> Work:
    if claim.kind == "query":
        return Work(claim=claim, query=query_task(tx, claim.inputs))
    if claim.kind == "sample":
        return Work(claim=claim, sample=sample_task(tx, claim.inputs))
    if claim.kind == "infer":
        return Work(claim=claim, infer=infer_task(claim.inputs))
    if claim.kind == "component":
        return Work(claim=claim, component=component_task(tx, ledger, claim))
    if claim.kind == "compact":
        return Work(claim=claim, compact=compact_task(tx, claim))
    if claim.kind == "graph":
        return Work(claim=claim, fire=reactor_work.fire_task(claim))
    if claim.kind == "stream":
        return Work(claim=claim, stream=reactor_work.stream_task(claim))
    inputs = ripple_inputs(claim.inputs)
    definition = ledger.definition(tx, inputs.definition)
    wanted = [identity for identity in inputs.snapshots.values() if identity is not None]
    read, contract = snapshots.for_ripple(tx, wanted, pond=inputs.pond_id, ripple=claim.node)
    assert claim.freshness is not None
    return Work(
        claim=claim,
        ripple=RippleTask(
            pond=inputs.pond,
            definition=definition,
            ripple=definition.ripple(claim.node),
            run_id=inputs.run_id,
            dataset_id=inputs.dataset_id,
            freshness=claim.freshness,
            previous_freshness=inputs.previous_freshness,
            inputs={
                parameter: None if identity is None else read[identity]
                for parameter, identity in inputs.snapshots.items()
            },
            contract=contract,
            idempotency_key=_idempotency_key(claim, inputs),
            volumes=snapshots.volumes(
                tx,
                inputs.dataset,
                max((rule.of_last for rule in definition.ripple(claim.node).expectations), default=0),
            ),
            probe=_last_probe(tx, claim, inputs, definition.mode) if definition.ripple(claim.node).has_probe else None,
        ),
    )


def _last_probe(tx: Transaction, claim: Claim, inputs: RippleInputs, mode: str) -> str | None:
    if mode != "replace":
        base = None if inputs.is_forced else increments.base(tx, claim, inputs)
        return base.content.probe if base is not None and base.digest == claim.digest else None
    newest = snapshots.newest(tx, inputs.dataset)
    if newest is None or inputs.is_forced or newest.is_deleted or newest.digest != claim.digest:
        return None
    return newest.probe


def _idempotency_key(claim: Claim, inputs: RippleInputs) -> str:
    """Answer a key that retries, crashes and resumes of the same work share, and no other work has."""
    place = [claim.environment, inputs.pond, claim.node, claim.digest, claim.freshness]
    return hashlib.sha256(msgspec.json.encode(place)).hexdigest()


def commit_written(
    ledger: Ledger, work: Work, content: SnapshotContent, *, process: int, give_up: Callable[[], bool] = never
) -> bool:
    """Publish what a Ripple wrote: the guarded commit with snapshot, report and inline advancement.

    False means fenced: somebody else closed this execution; its files must be thrown away and nobody told.
    """

    def record(tx: Transaction) -> Event:
        inputs = ripple_inputs(work.claim.inputs)
        assert work.claim.run is not None
        assert work.claim.freshness is not None
        assert work.ripple is not None
        kind = "full" if work.ripple.definition.mode == "replace" else work.ripple.definition.mode
        snapshots.insert(
            tx,
            public_id=ledger.ids.new("s"),
            dataset_id=inputs.dataset,
            run=work.claim.run,
            execution=work.claim.execution,
            freshness=work.claim.freshness,
            kind=kind,
            content=content,
            inputs=msgspec.json.encode(inputs.snapshots).decode(),
            digest=work.claim.digest or "",
        )
        if kind != "full":
            manifests.record(tx, snapshot=snapshots.written_by(tx, work.claim.execution), kind=kind, content=content)
        snapshots.put_written(
            tx,
            run=work.claim.run,
            pond=inputs.pond_id,
            node=work.claim.node,
            freshness=work.claim.freshness,
            execution=work.claim.execution,
        )
        return Done(pond=inputs.pond, ripple=work.claim.node, attempt=work.claim.number)

    return commit(ledger, work, "ok", record, process=process, give_up=give_up)


def commit_unchanged(ledger: Ledger, work: Work, *, process: int, give_up: Callable[[], bool] = never) -> bool:
    """Say that an Inlet found nothing new: its last snapshot serves this Run too. False means fenced."""

    def record(tx: Transaction) -> Event:
        inputs = ripple_inputs(work.claim.inputs)
        last = _last_snapshot(tx, work, inputs)
        assert last is not None, "the worker checked that there is something that can be unchanged"
        claim = work.claim
        assert claim.run is not None
        assert claim.freshness is not None
        snapshots.put_output(
            tx, run=claim.run, pond=inputs.pond_id, node=claim.node, freshness=claim.freshness, snapshot=last
        )
        return Done(pond=inputs.pond, ripple=claim.node, attempt=claim.number, reused=True)

    return commit(ledger, work, "reused", record, process=process, give_up=give_up)


def has_snapshot(ledger: Ledger, work: Work) -> bool:
    """Answer whether the Ripple has ever written: only then can it be unchanged."""
    with ledger.reading() as tx:
        return _last_snapshot(tx, work, ripple_inputs(work.claim.inputs)) is not None


def _last_snapshot(tx: Transaction, work: Work, inputs: RippleInputs) -> int | None:
    """Answer the data that is still right when the Ripple says so: of a table that grows, the one it would extend."""
    if work.ripple is not None and work.ripple.definition.mode != "replace":
        base = increments.base(tx, work.claim, inputs)
        return None if base is None else base.snapshot
    newest = snapshots.newest(tx, inputs.dataset)
    return None if newest is None else newest.id


def commit_failed(
    ledger: Ledger, work: Work, failure: Failure, *, process: int, give_up: Callable[[], bool] = never
) -> bool:
    """Say that the author's code, its output or its time was at fault. False means fenced."""

    error = msgspec.json.encode(failure).decode()
    # What a machine keeps of it are the words.
    told = msgspec.json.encode(
        Failure(code=failure.code, message=failure.message, place=failure.place, trace=failure.trace)
    ).decode()

    def record(tx: Transaction) -> Happening | None:
        claim = work.claim
        reactor_work.ended(tx, claim, error=failure.message, code=failure.code)
        return failure_event(
            kind=claim.kind,
            node=claim.node,
            number=claim.number,
            inputs=claim.inputs,
            code=failure.code,
            message=failure.message,
            error=told,
        )

    return commit(ledger, work, "failed", record, process=process, give_up=give_up, error=error)


def commit_query(ledger: Ledger, work: Work, result: str, *, process: int, give_up: Callable[[], bool] = never) -> bool:
    """Hand over the answer of a query, a sample or an analysis, as JSON. False means that nobody waits for it."""
    has_questions = work.infer is not None and work.infer.questions
    record = inferred_types.recorder(ledger, work.claim, result) if has_questions else _nothing
    return commit(ledger, work, "ok", record, process=process, give_up=give_up, result=result)


def commit_compacted(
    ledger: Ledger, work: Work, content: SnapshotContent, *, process: int, give_up: Callable[[], bool] = never
) -> bool:
    """Let the tables that have the compacted batches show the new files instead. False means fenced."""
    record = compaction.recorder(ledger, work.claim, content)
    result = msgspec.json.encode({"files": len(content.files), "rows": content.rows, "bytes": content.bytes}).decode()
    return commit(ledger, work, "ok", record, process=process, give_up=give_up, result=result)


def release(ledger: Ledger, work: Work, *, reason: str = "", give_up: Callable[[], bool] = never) -> bool:
    """Give work back untried (drain, deploy, a lost Spark session): it runs again and counts against nothing."""
    error = msgspec.json.encode(Failure(code="RELEASED", message=reason)).decode()

    def act() -> bool:
        with ledger.transaction() as tx:
            claim = work.claim
            is_ours = executions.close(
                tx, execution=claim.execution, token=claim.token, outcome="released", pool=claim.pool, error=error
            )
            if not is_ours:
                return False
            if claim.kind == "stream":
                reactor_work.ended(tx, claim, error="its worker gave it back")
            row = tx.row("SELECT queue, priority FROM dispatches WHERE id = :id", id=claim.dispatch)
            assert row is not None
            executions.enqueue(
                tx,
                dispatch=claim.dispatch,
                queue_id=number(row, "queue"),
                priority=number(row, "priority"),
                epoch=claim.epoch,
                is_isolated=claim.is_isolated,
            )
            return True

    return persist(act, give_up=give_up)


def enlarge(ledger: Ledger, work: Work, *, reason: str, give_up: Callable[[], bool] = never) -> bool | None:
    """Run again, with the next size of memory, what ran out of it. None when there is none; False means fenced."""
    error = msgspec.json.encode(Failure(code="OUT_OF_MEMORY", message=reason)).decode()

    def act() -> bool | None:
        with ledger.transaction() as tx:
            claim = work.claim
            larger = queues.larger(tx, claim.queue)
            if larger is None:
                return None
            is_ours = executions.close(
                tx, execution=claim.execution, token=claim.token, outcome="crashed", pool=claim.pool, error=error
            )
            if not is_ours:
                return executions.outcome_of(tx, claim.token) == "crashed"
            row = tx.row("SELECT priority FROM dispatches WHERE id = :id", id=claim.dispatch)
            assert row is not None
            executions.move(
                tx, dispatch=claim.dispatch, queue_id=larger, priority=number(row, "priority"), epoch=claim.epoch
            )
            return True

    return persist(act, give_up=give_up)


def commit(
    ledger: Ledger,
    work: Work,
    outcome: Outcome,
    record: Callable[[Transaction], Happening | None],
    *,
    process: int,
    give_up: Callable[[], bool],
    error: str | None = None,
    result: str | None = None,
) -> bool:
    """Make the guarded commit: close the execution if it is still ours, record, report, and advance the actor.

    `record` writes what the execution gave and answers what its actor must be told. False means fenced.
    """
    return guarded.commit(
        ledger, work.claim, outcome, record, process=process, give_up=give_up, error=error, result=result,
        summary=work.summary,
    )  # fmt: skip
