"""The sweeper: runs `vacuum` now and then, so that a warehouse does not grow for ever."""

from __future__ import annotations

import logging

from pondage.engine.process.config import EngineConfig
from pondage.engine.services.vacuum import vacuum
from pondage.ledger.ledger import Ledger

_log = logging.getLogger(__name__)


class Sweeper:
    """A service that deletes what nobody needs, every `vacuum_every_s`; the first time after that much time."""

    name = "sweeper"
    is_woken = False

    def __init__(self, ledger: Ledger, config: EngineConfig) -> None:
        self._ledger = ledger
        self._config = config
        self._has_waited = False

    def run_once(self) -> float:
        """Sweep once. A process that has just started has better things to do: its first pass only waits."""
        if self._has_waited:
            report = vacuum(self._ledger, self._config.warehouse)
            if report.swept or report.orphans:
                _log.info("vacuum removed %d bytes", report.bytes)
        self._has_waited = True
        return self._config.vacuum_every_s
