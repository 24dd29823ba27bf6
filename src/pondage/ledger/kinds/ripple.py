"""Ripples: a table of a Pond is computed and published. Its catchment is told."""

from __future__ import annotations

import hashlib

import msgspec

from pondage.define.pond.definition import PondDefinition, RippleDefinition
from pondage.define.pond.partition import Chunk
from pondage.define.values.names import PondKey
from pondage.kernel.demand.events import Done, Fail, Pulse
from pondage.ledger.data import landed, manifests, snapshots
from pondage.ledger.data.inputs import RippleInputs, ripple_inputs
from pondage.ledger.data.manifests import Author
from pondage.ledger.database.driver import Transaction
from pondage.ledger.kinds.kind import Dispatched, Ending, Kind, Work
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.claims import Claim
from pondage.ledger.queue.executions import Outcome
from pondage.ledger.step import bases, contracts
from pondage.ledger.step.actor import put_event
from pondage.work.failure import Failure
from pondage.work.snapshot import Batch, SnapshotContent
from pondage.work.task import Task


class RippleTask(Task, frozen=True, kw_only=True):
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
    batch: Batch | None = None
    """What is known of its rows when they are added to a table."""
    chunk: Chunk | None = None
    """The partitions that it computes again for a backfill, and no others; None for every other Run."""
    probe: str | None = None
    """What the probe answered for the newest snapshot; None when that snapshot cannot serve again anyway."""

    @property
    def title(self) -> str:
        """Answer the Ripple and its Run."""
        return f"{self.definition.name}.{self.ripple.name} of run {self.run_id}"

    @property
    def folder(self) -> str:
        """Answer the Run."""
        return self.run_id

    @property
    def declared_at(self) -> str | None:
        """Answer where the Pond is declared."""
        return self.definition.place or None

    @property
    def has_summary(self) -> bool:
        """Answer that people look at it with its Run."""
        return True

    def progress_lease_s(self, default_s: float | None) -> float | None:
        """Answer the Ripple's own lease before the project's."""
        return default_s if self.ripple.progress_lease_s is None else self.ripple.progress_lease_s


class Written(Ending, frozen=True):
    """A Ripple wrote a snapshot, which nobody can see yet."""

    content: SnapshotContent

    @property
    def line(self) -> str:
        """Answer how much it wrote."""
        wrote = f"wrote {self.content.rows:,} rows, {self.content.bytes:,} bytes"
        return wrote if self.content.upkeep is None else f"{wrote}: {self.content.upkeep.said}"

    def write(self, tx: Transaction, ledger: Ledger, work: Work) -> Done:
        """Publish it: the snapshot, the manifest of a table that grows, and the output of its Run."""
        claim, task = work.claim, work.given(RippleTask)
        inputs = ripple_inputs(claim.inputs)
        assert claim.run is not None
        assert claim.freshness is not None
        kind = "full" if task.definition.mode == "replace" else task.definition.mode
        snapshots.insert(
            tx,
            public_id=ledger.ids.new("s"),
            dataset_id=inputs.dataset,
            run=claim.run,
            execution=claim.execution,
            freshness=claim.freshness,
            kind=kind,
            content=self.content,
            inputs=msgspec.json.encode(inputs.snapshots).decode(),
            digest=_digest(tx, claim, inputs),
        )
        if self.content.lists:
            landed.keep(tx, snapshots.written_by(tx, claim.execution), self.content.lists)
        if kind != "full":
            written = snapshots.written_by(tx, claim.execution)
            author = Author(run=inputs.run_id, code=task.ripple.digest)
            manifests.record(tx, snapshot=written, kind=kind, content=self.content, author=author)
        snapshots.put_written(
            tx,
            run=claim.run,
            pond=inputs.pond_id,
            node=claim.node,
            freshness=claim.freshness,
            execution=claim.execution,
        )
        if self.content.left and inputs.chunk is None:
            assert claim.actor is not None
            # More is there than one Run takes: what asked for this one is not satisfied, and the next begins at once.
            put_event(tx, actor=claim.actor, event=Pulse(pond=inputs.pond))
        return Done(pond=inputs.pond, ripple=claim.node, attempt=claim.number)


class Same(Ending, frozen=True):
    """A Ripple said that its last data is still right: its last snapshot serves this Run too."""

    @property
    def outcome(self) -> Outcome:
        """Answer that nothing was written."""
        return "reused"

    def write(self, tx: Transaction, ledger: Ledger, work: Work) -> Done:
        """Make the last snapshot the output of this Run."""
        claim = work.claim
        inputs = ripple_inputs(claim.inputs)
        last = _last_snapshot(tx, work, inputs)
        assert last is not None, "the worker checked that there is something that can be unchanged"
        assert claim.run is not None
        assert claim.freshness is not None
        snapshots.put_output(
            tx, run=claim.run, pond=inputs.pond_id, node=claim.node, freshness=claim.freshness, snapshot=last
        )
        return Done(pond=inputs.pond, ripple=claim.node, attempt=claim.number, reused=True)


class RippleKind(Kind):
    """A Ripple, whose end is `Written` or `Same`."""

    name = "ripple"

    def load(self, tx: Transaction, ledger: Ledger, claim: Claim) -> RippleTask:
        """Answer the Ripple, its inputs, and what its contract, rules and probe compare with."""
        inputs = ripple_inputs(claim.inputs)
        definition = ledger.definition(tx, inputs.definition)
        wanted = [identity for identity in inputs.snapshots.values() if identity is not None]
        read, contract = snapshots.for_ripple(tx, wanted, pond=inputs.pond_id, ripple=claim.node)
        if contract is None and ledger.has_parent(tx, claim.environment):
            contract = contracts.promised_above(tx, claim.environment, inputs.pond, claim.node)
        assert claim.freshness is not None
        return RippleTask(
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
            batch=contracts.batch_of(tx, ledger, definition, inputs.pond_id, claim.node),
            idempotency_key=_idempotency_key(claim, inputs),
            chunk=inputs.chunk,
            volumes=snapshots.volumes(
                tx,
                inputs.dataset,
                max((rule.of_last for rule in definition.ripple(claim.node).expectations), default=0),
            ),
            probe=_last_probe(tx, claim, inputs, definition.mode) if definition.ripple(claim.node).has_probe else None,
        )

    def failed(self, tx: Transaction, dispatched: Dispatched, failure: Failure) -> Fail:
        """Answer which Ripple of which Pond failed, and why."""
        pond = ripple_inputs(dispatched.inputs).pond
        return Fail(pond=pond, ripple=dispatched.node, attempt=dispatched.number, error=failure.words)


def has_snapshot(ledger: Ledger, work: Work) -> bool:
    """Answer whether the Ripple has ever written: only then can it be unchanged."""
    with ledger.reading() as tx:
        return _last_snapshot(tx, work, ripple_inputs(work.claim.inputs)) is not None


def _last_snapshot(tx: Transaction, work: Work, inputs: RippleInputs) -> int | None:
    """Answer the data that is still right when the Ripple says so: of a table that grows, the one it would extend."""
    if work.given(RippleTask).definition.mode != "replace":
        base = bases.base(tx, work.claim, inputs)
        return None if base is None else base.snapshot
    newest = snapshots.newest(tx, inputs.dataset)
    return None if newest is None else newest.id


def _digest(tx: Transaction, claim: Claim, inputs: RippleInputs) -> str:
    """Answer what the next Run is judged by: after a chunk of a backfill the same as if there had been none."""
    before = None if inputs.chunk is None else bases.base(tx, claim, inputs)
    return (claim.digest or "") if before is None else before.digest


def _last_probe(tx: Transaction, claim: Claim, inputs: RippleInputs, mode: str) -> str | None:
    if mode != "replace":
        base = None if inputs.is_forced else bases.base(tx, claim, inputs)
        return base.content.probe if base is not None and base.digest == claim.digest else None
    newest = snapshots.newest(tx, inputs.dataset)
    if newest is None or inputs.is_forced or newest.is_deleted or newest.digest != claim.digest:
        return None
    return newest.content.probe


def _idempotency_key(claim: Claim, inputs: RippleInputs) -> str:
    """Answer a key that retries, crashes and resumes of the same work share, and no other work has."""
    place: list[object] = [claim.environment, inputs.pond, claim.node, claim.digest, claim.freshness]
    if inputs.chunk is not None:  # one freshness has many of them
        place.append(inputs.run_id)
    return hashlib.sha256(msgspec.json.encode(place)).hexdigest()
