"""How patient a deployment is: `[durability]` of the project file, and what the ledger goes by."""

from __future__ import annotations

import msgspec

MOST_SLOTS = 10_000
"""The largest pool: each slot is a row."""


class Durability(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds unless the name says otherwise; the defaults suit one machine and a small cluster alike."""

    heartbeat_s: float = 5.0
    probe_s: float = 1.0
    reap_after_s: float = 60.0
    child_margin_s: float = 10.0
    retry_delay_s: float = 10.0
    crash_budget: int = 10
    advance_retries: int = 10
    poll_s: float = 1.0
    drain_s: float = 30.0
    termination_grace_s: float = 172_800.0
    """What may run only once (`restartable: false`) cannot be given back: so long a draining worker waits for it."""
    keep_runs: int = 5
    retention_days: float = 30.0
    progress_lease_s: float | None = None
    """Without a finished task for so long a Ripple fails; None, the default, leaves it its time."""

    @property
    def can_miss_two_beats(self) -> bool:
        """Answer whether a process that loses two heartbeats is still alive for the others: less is refused."""
        return 3 * self.heartbeat_s < self.reap_after_s

    @property
    def fence_after_s(self) -> float:
        """Answer the silence after which a process ends itself, or its supervisor ends it: before others reap it."""
        return self.reap_after_s - self.child_margin_s
