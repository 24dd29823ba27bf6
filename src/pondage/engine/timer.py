"""The timer: advances every actor for which something is due, and finds reports that nobody carried on."""

from __future__ import annotations

from pondage.ledger import advance
from pondage.ledger.ledger import Ledger


class Timer:
    """A service that makes time pass for the machines."""

    name = "timer"
    is_woken = True

    def __init__(self, ledger: Ledger, *, process: int | None) -> None:
        self._ledger = ledger
        self._process = process

    def run_once(self) -> float:
        """Advance what is due; the next pass is due with the next timer, or after `poll_s`."""
        advance.advance_due(self._ledger, process=self._process)
        poll_s = self._ledger.durability.poll_s
        next_at = advance.next_due(self._ledger)
        if next_at is None:
            return poll_s
        with self._ledger.reading() as tx:
            left_s = (next_at - tx.now) / 1e6
        # Something that stays due (a halted actor's signal) must not make this loop spin.
        return poll_s if left_s <= 0 else min(poll_s, left_s)
