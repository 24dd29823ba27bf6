"""The lease service: ends work whose time is over or that makes no progress, also when its worker no longer can."""

from __future__ import annotations

import logging

from pondage.ledger.ledger import Ledger
from pondage.ledger.upkeep import leases

_log = logging.getLogger(__name__)


class Leases:
    """A service that judges leases by the ledger's clock. Every process that maintains the ledger runs one."""

    name = "leases"
    is_woken = False

    def __init__(self, ledger: Ledger, *, process: int | None) -> None:
        self._ledger = ledger
        self._process = process

    def run_once(self) -> float:
        """End what has run out, and answer when the next one may."""
        expired = leases.expire(self._ledger, process=self._process)
        if expired:
            _log.warning("the leases of %d executions ran out", expired)
        return self._ledger.durability.poll_s
