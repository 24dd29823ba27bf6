"""Asking for compactions: of every table that has too many small batches, or of those of one Pond."""

from __future__ import annotations

import msgspec

from pondage.define.values.names import PondKey
from pondage.errors import LedgerError, NotFound
from pondage.ledger.data import manifests, pages
from pondage.ledger.data.inputs import CompactInputs
from pondage.ledger.data.manifests import Manifest
from pondage.ledger.data.pages import Member
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions
from pondage.ledger.queue.executions import Dispatch
from pondage.ledger.queue.queues import QueueKey
from pondage.ledger.tables import actors, history
from pondage.ledger.tables.environments import environment_id
from pondage.ledger.tables.history import Caller

MOST_MEMBERS = 1_000
"""How many batches one compaction puts together at most."""
AFTER_FAILURE_US = 3_600_000_000
"""How long a table is left alone after a compaction of it failed."""


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """A compaction that was asked for."""

    dispatch: int
    ripple: str
    batches: int


_CURRENT = """
SELECT o.pond AS pond, o.node AS node, o.snapshot AS snapshot, r.id AS run, r.public_id AS run_id,
       r.environment AS environment, d.id AS dataset, d.public_id AS dataset_id, p.name AS pond_name
FROM {found} JOIN runs r ON r.id = o.run JOIN ponds p ON p.id = o.pond
     JOIN datasets d ON d.pond = o.pond AND d.ripple = o.node
WHERE r.id = (SELECT max(c.id) FROM runs c WHERE c.pond = o.pond AND c.state = 'completed')
      AND {condition}"""
_OF_POND = _CURRENT.format(found="run_outputs o", condition="o.pond = :pond ORDER BY o.id")
# An idle look costs nothing: the condition on `small` is that of the index, and the limit has SQLite begin there.
_FRAGMENTED = _CURRENT.format(
    found="""(SELECT f.snapshot AS snapshot FROM manifests f
      WHERE f.small > 64 AND f.id = (SELECT max(n.id) FROM manifests n WHERE n.snapshot = f.snapshot)
      ORDER BY f.id DESC LIMIT 1000) m JOIN run_outputs o ON o.snapshot = m.snapshot""",
    condition="""NOT EXISTS (SELECT 1 FROM dispatches x WHERE x.dataset = d.id AND x.kind = 'compact'
                      AND (x.outcome IS NULL OR (x.outcome <> 'ok' AND x.closed_at > :since)))""",
)


class _Current(msgspec.Struct, frozen=True, kw_only=True):
    pond: int
    pond_name: str
    node: str
    snapshot: int
    run: int
    run_id: str
    environment: int
    dataset: int
    dataset_id: str


def begin_due(ledger: Ledger) -> int:
    """Ask for a compaction of every table that has too many small batches, and answer of how many."""
    with ledger.reading() as tx:
        if not tx.rows(_FRAGMENTED, since=tx.now - AFTER_FAILURE_US):
            return 0
    with ledger.transaction() as tx:
        rows = tx.rows(_FRAGMENTED, _Current, since=tx.now - AFTER_FAILURE_US)
        found = {row.dataset: row for row in rows}
        return len([row for row in found.values() if _begin(tx, ledger, row, priority=3) is not None])


def begin(ledger: Ledger, environment: str, pond: PondKey, *, by: Caller | None = None) -> list[Begun]:
    """Ask for a compaction of every table of a Pond that has at least two small batches."""
    with ledger.transaction() as tx:
        identity = environment_id(tx, environment)
        row = actors.pond(tx, identity, pond)
        if row is None:
            raise NotFound(f"there is no Pond {pond} in environment {environment}", hint="pondage status --once")
        if ledger.definition(tx, row.definition).mode == "replace":
            raise LedgerError(
                f"{pond} publishes its whole table each time, so there is nothing to compact",
                hint='mode="append", "merge", "partition" and "auto" have batches',
                code="NO_BATCHES",
            )
        asked = [_begin(tx, ledger, each, priority=0) for each in tx.rows(_OF_POND, _Current, pond=row.id)]
        history.audit(tx, by, environment=identity, verb="compact", target=pond)
    return [each for each in asked if each is not None]


def _begin(tx: Transaction, ledger: Ledger, row: _Current, *, priority: int) -> Begun | None:
    manifest = manifests.newest(tx, [row.snapshot]).get(row.snapshot)
    small, size = ((), 0) if manifest is None else _small(tx, manifest)
    if manifest is None or len(small) < (1 if manifest.pages else 2):
        return None
    inputs = of_row(CompactInputs, row, members=small, bytes=size)
    dispatch = executions.dispatch(
        tx,
        Dispatch(
            environment=row.environment,
            kind="compact",
            node=row.node,
            # No machine counts it: attempts of Ripples begin at 1.
            number=0,
            priority=priority,
            queue=ledger.queue(tx, QueueKey(code="")),
            inputs=msgspec.json.encode(inputs).decode(),
            run=inputs.run,
            dataset=inputs.dataset,
            crash_budget=0,
        ),
    )
    return Begun(dispatch=dispatch, ripple=row.node, batches=len(small))


def _small(tx: Transaction, manifest: Manifest) -> tuple[tuple[Member, ...], int]:
    """Answer the members that are worth putting together, and their size."""
    if manifest.pages:
        # A partition is written again as a whole: its files are of one write, and mostly of one size.
        found = sorted(pages.listed(tx, manifest.pages), key=lambda entry: -entry.small)[:MOST_MEMBERS]
        torn = [entry for entry in found if entry.small]
        return tuple(entry.member for entry in torn), sum(entry.bytes for entry in torn)
    parts = manifests.contents(tx, {each.snapshot for each in manifest.members})
    files = {each: manifests.files_of([each], parts) for each in manifest.members}
    small = [each for each in manifest.members if manifests.is_small(files[each])][:MOST_MEMBERS]
    return tuple(small), sum(file.bytes for each in small for file in files[each])
