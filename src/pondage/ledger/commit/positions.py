"""How far a Ripple has read something outside, such as a topic; and how far the work at hand is to read it.

The first is part of a snapshot, so it moves with the guarded commit. The second is decided once for a Run and kept:
whoever tries the work again reads exactly the same.
"""

from __future__ import annotations

from pondage.ledger.commit.increments import Increments
from pondage.ledger.data import landed
from pondage.ledger.data.inputs import ripple_inputs
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import RippleTask
from pondage.ledger.ledger import Ledger


class Positions:
    """What a worker asks for the Ripple that it runs. Values are JSON."""

    def __init__(self, ledger: Ledger, work: Work, place: str = "") -> None:
        self._place = place
        self._ledger = ledger
        self._work = work
        self._increments = Increments(ledger, work.claim)
        self._is_growing = work.given(RippleTask).definition.mode != "replace"

    def position(self, name: str) -> str | None:
        """Answer up to where the Ripple has read, None when it has never read it or is asked for everything.

        A table that grows goes on from the batch that it extends, any other from what readers have seen.
        """
        if self._increments.is_asked_full:
            return None
        base = self._increments.base(is_published=not self._is_growing)
        return None if base is None else base.content.positions.get(name)

    def of_same_code(self) -> dict[str, str]:
        """Answer everything that a Run of the same code with the same inputs has read up to; nothing when forced."""
        if ripple_inputs(self._work.claim.inputs).is_forced:
            return {}
        base = self._increments.base(is_published=not self._is_growing)
        return dict(base.content.positions) if base is not None and base.digest == self._work.claim.digest else {}

    @property
    def run_id(self) -> str:
        """Answer the public id of the Run."""
        return self._work.given(RippleTask).run_id

    @property
    def place(self) -> str:
        """Answer the directory for what a position is too long for."""
        return self._place

    def forgotten(self, after: int) -> tuple[int, tuple[str, ...]]:
        """Answer which files are to be taken again, as was told after this number, and the number of the last."""
        with self._ledger.reading() as tx:
            return landed.forgotten(tx, ripple_inputs(self._work.claim.inputs).dataset, after=after)

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
            return tx.one("SELECT value FROM decisions WHERE run = :run AND node = :node AND name = :name", str, **key)

    def decided(self, name: str) -> str | None:
        """Answer what was decided for this Run, None when nothing was yet."""
        key = {"run": self._work.claim.run, "node": self._work.claim.node, "name": name}
        with self._ledger.reading() as tx:
            return tx.row("SELECT value FROM decisions WHERE run = :run AND node = :node AND name = :name", str, **key)
