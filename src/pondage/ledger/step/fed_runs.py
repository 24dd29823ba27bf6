"""Runs of a Pond that a reactor publishes: written with their snapshot when it hands over a batch, complete at once."""

from __future__ import annotations

import hashlib

import msgspec

from pondage.ledger.data import manifests, snapshots
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions
from pondage.ledger.queue.executions import Dispatch
from pondage.ledger.queue.queues import QueueKey
from pondage.ledger.step.runs import RunRow
from pondage.ledger.tables.actors import PondRow
from pondage.work.snapshot import Increment, SnapshotContent


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What a reactor has written: the files, and the token that names their directory."""

    token: str
    content: SnapshotContent


def record(tx: Transaction, ledger: Ledger, run: RunRow, pond: PondRow, *, environment: int, batch: str | None) -> None:
    """Give a fed Run its table: the batch behind what was there, or without one the same table again."""
    definition = ledger.definition(tx, run.definition)
    ripple = definition.ripples[0]
    last = _last(tx, pond.id, ripple.name)
    if batch is None:
        assert last is not None, "the machine passes only over what was published"
        snapshots.put_output(tx, run=run.id, pond=pond.id, node=ripple.name, freshness=run.freshness, snapshot=last)
        return
    given = msgspec.json.decode(batch, type=Batch)
    dataset, _ = ledger.dataset(tx, pond=pond.id, ripple=ripple.name)
    digest = hashlib.sha256(given.token.encode()).hexdigest()
    execution = executions.put_closed(
        tx,
        Dispatch(
            environment=environment,
            kind="fire",
            node=ripple.name,
            number=run.number,
            queue=ledger.queue(tx, QueueKey(code=definition.archive)),
            inputs="{}",
            actor=pond.actor,
            run=run.id,
            dataset=dataset,
            freshness=run.freshness,
            digest=digest,
        ),
        token=given.token,
    )
    is_growing = definition.mode == "append"
    content = given.content
    if is_growing:
        content = msgspec.structs.replace(content, increment=Increment(base=last))
    snapshots.insert(
        tx,
        public_id=ledger.ids.new("s"),
        dataset_id=dataset,
        run=run.id,
        execution=execution,
        freshness=run.freshness,
        kind="append" if is_growing else "full",
        content=content,
        inputs="{}",
        digest=digest,
    )
    if is_growing:
        manifests.record(tx, snapshot=snapshots.written_by(tx, execution), kind="append", content=content)
    snapshots.put_written(tx, run=run.id, pond=pond.id, node=ripple.name, freshness=run.freshness, execution=execution)


def _last(tx: Transaction, pond: int, node: str) -> int | None:
    return tx.row(
        """SELECT snapshot FROM run_outputs WHERE pond = :pond AND node = :node
           ORDER BY freshness DESC, id DESC LIMIT 1""",
        int,
        pond=pond,
        node=node,
    )
