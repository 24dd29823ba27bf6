"""How far a Ripple has read something outside, such as a topic; and how far the work at hand is to read it.

The first is part of a snapshot, so it moves with the guarded commit. The second is decided once for a Run and kept:
whoever tries the work again reads exactly the same.
"""

from __future__ import annotations

import msgspec

from pondage.define.snapshot import SnapshotContent
from pondage.ledger.driver import text
from pondage.ledger.inputs import ripple_inputs
from pondage.ledger.ledger import Ledger
from pondage.ledger.work import Work

_content = msgspec.json.Decoder(SnapshotContent)

# A table that grows goes on from its newest batch, whatever became of its Run; any other from what readers have seen.
_NEWEST = "SELECT content FROM snapshots WHERE dataset = :dataset AND kind <> 'compact' ORDER BY id DESC LIMIT 1"
_PUBLISHED = """SELECT s.content AS content FROM snapshots s
                WHERE s.dataset = :dataset AND EXISTS (
                    SELECT 1 FROM run_outputs o JOIN runs r ON r.id = o.run
                    WHERE o.snapshot = s.id AND r.state = 'completed') ORDER BY s.id DESC LIMIT 1"""


class Positions:
    """What a worker asks for the Ripple that it runs. Values are JSON."""

    def __init__(self, ledger: Ledger, work: Work) -> None:
        assert work.ripple is not None
        self._ledger = ledger
        self._work = work
        self._is_growing = work.ripple.definition.mode != "replace"

    def position(self, name: str) -> str | None:
        """Answer up to where the Ripple has read, None when it has never read it."""
        inputs = ripple_inputs(self._work.claim.inputs)
        with self._ledger.reading() as tx:
            row = tx.row(_NEWEST if self._is_growing else _PUBLISHED, dataset=inputs.dataset)
        return None if row is None else _content.decode(text(row, "content")).positions.get(name)

    def decide(self, name: str, value: str) -> str:
        """Answer what was decided for this Run first, which is `value` when nothing was."""
        key = {"run": self._work.claim.run, "node": self._work.claim.node, "name": name}
        with self._ledger.transaction() as tx:
            tx.change(
                """INSERT INTO decisions (run, node, name, value) VALUES (:run, :node, :name, :value)
                   ON CONFLICT (run, node, name) DO NOTHING""",
                value=value,
                **key,
            )
            row = tx.row("SELECT value FROM decisions WHERE run = :run AND node = :node AND name = :name", **key)
        assert row is not None
        return text(row, "value")

    def decided(self, name: str) -> str | None:
        """Answer what was decided for this Run, None when nothing was yet."""
        key = {"run": self._work.claim.run, "node": self._work.claim.node, "name": name}
        with self._ledger.reading() as tx:
            row = tx.row("SELECT value FROM decisions WHERE run = :run AND node = :node AND name = :name", **key)
        return None if row is None else text(row, "value")
