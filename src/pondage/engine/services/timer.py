"""The timer: advances every actor for which something is due, and finds reports that nobody carried on."""

from __future__ import annotations

from pondage.ledger.ledger import Ledger
from pondage.ledger.step import advance


class Timer:
    """A service that makes time pass for the machines."""

    name = "timer"
    is_woken = True

    def __init__(self, ledger: Ledger, *, process: int | None) -> None:
        self._ledger = ledger
        self._process = process

    def run_once(self) -> float:
        """Advance what is due; the next pass is due with the next timer, or after `poll_s`."""
        left_s = advance.next_in(self._ledger)
        if left_s is not None and left_s <= 0:
            advance.advance_due(self._ledger, process=self._process)
            left_s = advance.next_in(self._ledger)
        poll_s = self._ledger.durability.poll_s
        # Something that stays due (a halted actor's signal) must not make this loop spin.
        return poll_s if left_s is None or left_s <= 0 else min(poll_s, left_s)
