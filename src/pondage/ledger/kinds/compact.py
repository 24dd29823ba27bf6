"""Compactions: many small batches of a table are written again as few files. What the table shows does not change.

It is a dispatch without a machine and without retries. Its commit adds a manifest to every snapshot whose table has the
batches that were put together; those batches stay for whoever still follows them, until retention lets them go.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pondage.ledger.data import manifests, pages, snapshots
from pondage.ledger.data.inputs import CompactInputs, compact_inputs
from pondage.ledger.data.manifests import Manifest
from pondage.ledger.data.pages import Entry, Member, PageRef
from pondage.ledger.database.driver import Transaction
from pondage.ledger.kinds.kind import Ending, Kind, Work
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.claims import Claim
from pondage.ledger.tables import history
from pondage.work.snapshot import Increment, SnapshotContent
from pondage.work.task import Task


class CompactTask(Task, frozen=True, kw_only=True):
    """Files to be written again as few: the rows of `table`, and nothing else."""

    pond: str
    dataset_id: str
    run_id: str
    table: SnapshotContent


class Compacted(Ending, frozen=True):
    """Many small files were written again as few, which nobody reads yet."""

    content: SnapshotContent

    @property
    def answer(self) -> str:
        """Answer how much it is now."""
        content = self.content
        found = {"files": len(content.files), "rows": content.rows, "bytes": content.bytes}
        return msgspec.json.encode(found).decode()

    def write(self, tx: Transaction, ledger: Ledger, work: Work) -> None:
        """Let the tables that have the compacted batches show the new files instead: a manifest for each of them."""
        claim = work.claim
        inputs = compact_inputs(claim.inputs)
        gone = set(inputs.members)
        later = tx.rows(
            """SELECT id FROM snapshots
               WHERE dataset = :dataset AND id >= :first AND kind <> 'compact' AND tombstoned_at IS NULL""",
            int,
            dataset=inputs.dataset,
            first=inputs.snapshot,
        )
        found = manifests.newest(tx, later)
        partitions = {file.partition for file in self.content.files if file.partition is not None}
        having = {
            snapshot: each
            for snapshot, each in found.items()
            if (each.pages if partitions else gone <= set(each.members))
        }
        if not having:
            return  # somebody else has put them together meanwhile: nobody will ever read these files
        snapshots.insert(
            tx,
            public_id=ledger.ids.new("s"),
            dataset_id=inputs.dataset,
            run=inputs.run,
            execution=claim.execution,
            freshness=0,
            kind="compact",
            content=self.content,
            inputs="{}",
            digest="",
        )
        made = snapshots.written_by(tx, claim.execution)
        known: dict[int, PageRef] = {}
        for snapshot, manifest in having.items():
            if not partitions:
                manifests.insert(tx, snapshot, _rewritten(manifest, inputs, made, self.content))
                continue
            changed = pages.rewritten(tx, manifest.pages, _in_fewer(gone, made, self.content), partitions, known)
            if changed != manifest.pages:
                manifests.insert(tx, snapshot, manifests.paged(changed))
        history.put_outbox(
            tx, environment=claim.environment, kind="publish", payload={"pond": inputs.pond, "run": inputs.run_id}
        )


class CompactKind(Kind):
    """A compaction, whose end is `Compacted`. Nobody waits for it: the next look asks for another one."""

    name = "compact"
    survives_crashes = False

    def load(self, tx: Transaction, ledger: Ledger, claim: Claim) -> CompactTask:
        """Answer the files that the work puts together."""
        inputs = compact_inputs(claim.inputs)
        parts = manifests.contents(tx, {inputs.snapshot, *(each.snapshot for each in inputs.members)})
        files = manifests.files_of(inputs.members, parts)
        newest = parts[inputs.snapshot]
        return CompactTask(
            pond=inputs.pond_name,
            dataset_id=inputs.dataset_id,
            run_id=inputs.run_id,
            table=SnapshotContent(
                path="",
                files=tuple(files),
                schema=newest.schema,
                rows=sum(file.rows for file in files),
                bytes=sum(file.bytes for file in files),
                set_aside=None if newest.is_merge or newest.by else manifests.set_aside(inputs.members, parts, newest),
                increment=Increment(by=newest.by) if newest.by else None,
            ),
        )


def _rewritten(manifest: Manifest, inputs: CompactInputs, made: int, content: SnapshotContent) -> Manifest:
    left = tuple(each for each in manifest.members if each not in inputs.members)
    return Manifest(
        id=None,
        members=(Member(made), *left),
        small=manifest.small - len(inputs.members) + int(manifests.is_small(content.files)),
        rows=manifest.rows,
        bytes=manifest.bytes - inputs.bytes + content.bytes,
    )


def _in_fewer(gone: set[Member], made: int, content: SnapshotContent) -> Callable[[Entry], Entry]:
    """Answer what becomes of a partition: one whose files were written again is in the new ones."""
    positions = manifests.by_partition(content.files)

    def changed(entry: Entry) -> Entry:
        if entry.member not in gone or entry.partition not in positions:
            return entry
        found = positions[entry.partition]
        return manifests.moved(entry, Member(made, tuple(found)), [content.files[each] for each in found])

    return changed
