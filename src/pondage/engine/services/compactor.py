"""The compactor: asks for a compaction of every table that has too many small batches."""

from __future__ import annotations

import logging

from pondage.ledger.act import compaction
from pondage.ledger.ledger import Ledger

EVERY_S = 60.0

_log = logging.getLogger(__name__)


class Compactor:
    """A service that looks now and then; the work is a dispatch that a worker claims when it has nothing else."""

    name = "compactor"
    is_woken = False

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def run_once(self) -> float:
        """Ask for what is due, and answer when to look again."""
        begun = compaction.begin_due(self._ledger)
        if begun:
            _log.info("asked for the compaction of %d tables", begun)
        return EVERY_S
