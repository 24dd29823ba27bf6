"""The reaper: takes back what dead processes held. Every process that maintains the ledger runs one."""

from __future__ import annotations

import logging

from pondage.engine.process import identity
from pondage.engine.services.remote_queries import RemoteQueries
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.upkeep import reap
from pondage.ledger.upkeep.reap import Reaped

_log = logging.getLogger(__name__)


class Reaper:
    """A service with two detectors of death: silence for `reap_after_s`, and on this machine pid and start time.

    The second one needs no waiting: after `kill -9` of everything, the next start goes on at once.
    """

    name = "reaper"
    is_woken = False

    def __init__(self, ledger: Ledger, *, process: int | None, queries: RemoteQueries | None = None) -> None:
        self._ledger = ledger
        self._process = process
        self._queries = queries or RemoteQueries(None)

    def run_once(self) -> float:
        """Reap whoever is dead, and answer when to look again."""
        for reaped in [*self.reap_gone(), *reap.reap_stale(self._ledger, process=self._process)]:
            _log.warning(
                "%s %s is dead (%s); it held %d", reaped.role, reaped.process, reaped.reason, reaped.executions
            )
            self._queries.end(reaped.tokens)
        return self._ledger.durability.heartbeat_s

    def reap_gone(self) -> list[Reaped]:
        """Reap processes of this machine and boot that do not run any more."""
        here = identity.machine()
        with self._ledger.reading() as tx:
            boot = tx.boot
            rows = processes.alive(tx)
        found = [
            reap.reap_process(self._ledger, row, reason="its process is gone", reaper=self._process)
            for row in rows
            if row.machine == here
            and row.boot == boot
            and row.id != self._process
            and not identity.is_running(row.pid, row.pid_started)
        ]
        return [each for each in found if each is not None]
