"""Samples: Ripples of code that need not be deployed, run on a few rows of what is published. Nothing is changed."""

from __future__ import annotations

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.ledger.data import snapshots
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.ledger.kinds.kind import Kind
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.claims import Claim
from pondage.work.snapshot import SnapshotContent
from pondage.work.task import Task


class SampleInputs(msgspec.Struct, frozen=True, kw_only=True):
    """The work of a sample: which Ripples, in order, and the snapshot behind each table they read from outside."""

    definition: PondDefinition
    ripples: tuple[str, ...]
    rows: int
    limit: int
    freshness: int
    previous_freshness: int | None
    snapshots: dict[str, dict[str, int | None]]
    contracts: dict[str, str]


class SampleTask(Task, frozen=True, kw_only=True):
    """A sample to be run. `inputs` has, for each Ripple, the tables that no Ripple of the sample gives it."""

    definition: PondDefinition
    ripples: tuple[str, ...]
    rows: int
    limit: int
    freshness: int
    previous_freshness: int | None
    inputs: dict[str, dict[str, SnapshotContent | None]]
    contracts: dict[str, str]


sample_inputs = msgspec.json.Decoder(SampleInputs).decode


class SampleKind(Kind):
    """A sample, whose end is `Answered`. Its crash budget is 0: who waits for it asks again."""

    name = "sample"

    def load(self, tx: Transaction, ledger: Ledger, claim: Claim) -> SampleTask:
        """Answer the work of a sample with the snapshots that it reads."""
        given = sample_inputs(claim.inputs)
        ids = [each for tables in given.snapshots.values() for each in tables.values() if each is not None]
        loaded = snapshots.load(tx, ids)
        inputs = {
            ripple: {name: None if each is None else loaded[each].content for name, each in tables.items()}
            for ripple, tables in given.snapshots.items()
        }
        return of_row(SampleTask, given, inputs=inputs)
