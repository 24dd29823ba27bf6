"""The services that a supervisor runs beside looking after its processes."""

from __future__ import annotations

from pondage.engine.process.config import EngineConfig
from pondage.engine.services.alerts import Alerter, sender
from pondage.engine.services.compactor import Compactor
from pondage.engine.services.leases import Leases
from pondage.engine.services.maintenance import Service
from pondage.engine.services.notifications import teller
from pondage.engine.services.outbox import TOLD_AT_ONCE, Outbox
from pondage.engine.services.reaper import Reaper
from pondage.engine.services.remote_queries import RemoteQueries
from pondage.engine.services.sweeper import Sweeper
from pondage.engine.services.timer import Timer
from pondage.ledger.ledger import Ledger


def upkeep(config: EngineConfig, ledger: Ledger, *, process: int) -> tuple[list[Service], list[Service]]:
    """Answer the services of the ledger, and those that may wait for a file system or somebody else."""
    outbox = Outbox(
        ledger,
        config.warehouse,
        config.ledger,
        tell=teller(ledger, config),
        alert=sender(ledger, config),
        at_once=TOLD_AT_ONCE,
    )
    return (
        [
            Timer(ledger, process=process),
            Reaper(ledger, process=process, queries=RemoteQueries(config.spark.remote)),
            Leases(ledger, process=process),
            Compactor(ledger),
        ],
        [outbox, Sweeper(ledger, config), Alerter(ledger, config.alerts)],
    )
