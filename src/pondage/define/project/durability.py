"""How patient a deployment is: `[durability]` of the project file, and what the ledger goes by."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pondage.define.values.keep import Keep, KeepStep, parsed_keep

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
MOST_SLOTS = 10_000
"""The largest pool: each slot is a row."""
SHORTEST_S = 0.01
"""Nobody beats or looks more often: it would do nothing else."""
LEAST_LEASE_S = 3.0
"""So long may every process be silent: on a busy machine nobody beats in time who starts Spark, or waits for a lock."""
LEAST_PROGRESS_S = 30.0
"""So long may a Ripple finish no task: Spark plans before the first one, and the first Ripple of a worker starts it."""
LONGEST_S = 10 * 365 * 86_400
"""No setting is longer than ten years: times are added up in microseconds of 64 bits."""

MISSED_BEATS = 2.5
"""So many heartbeats must be missing before a process is called silent, or the end of its connection its own."""


class Durability(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds unless the name says otherwise; the defaults suit one machine and a small cluster alike."""

    heartbeat_s: float = 5.0
    probe_s: float = 1.0
    reap_after_s: float = 60.0
    child_margin_s: float = 10.0
    retry_delay_s: float = 10.0
    crash_budget: int = 4
    """So many crashes end a piece of work."""
    crash_delay_s: float = 2.0
    """Work that crashed is tried again at once, and with each further crash so much later: after 0, 2 and 4 s."""
    advance_retries: int = 10
    poll_s: float = 1.0
    drain_s: float = 30.0
    termination_grace_s: float = 172_800.0
    """What may run only once (`restartable: false`) cannot be given back: so long a draining worker waits for it."""
    keep_runs: int = 5
    """So many completed Runs of a Pond stay, however old they are."""
    retention_days: float = 30.0
    keep: str = ""
    """Which Runs stay as they become older; empty: all of an hour, the last of each hour of two days, and then of each
    day up to `retention_days`."""
    reads_keep: float = 120.0
    """Days for which the read log says who read what."""
    progress_lease_s: float | None = None
    """Without a finished task for so long a Ripple fails; None, the default, leaves it its time."""

    @property
    def keeping(self) -> Keep:
        """Answer which Runs stay as they become older, where a Pond does not say otherwise."""
        if self.keep:
            return parsed_keep(self.keep, what="durability.keep")
        longest_us = int(min(self.retention_days, LONGEST_S) * DAY_US)
        return Keep(
            steps=tuple(
                KeepStep(until_us=min(until_us, longest_us), every_us=every_us)
                for until_us, every_us in ((HOUR_US, 0), (2 * DAY_US, HOUR_US), (longest_us, DAY_US))
            )
        )

    @property
    def can_miss_two_beats(self) -> bool:
        """Answer whether a process that loses two heartbeats is still alive for the others: less is refused."""
        return 3 * self.heartbeat_s < self.reap_after_s

    def contradictions(self) -> Iterator[tuple[str, str, str]]:
        """Give settings that cannot work together: which one, the inequality that does not hold, what to do."""
        beats_s = 3 * self.heartbeat_s
        least = beats_s + self.child_margin_s
        if self.reap_after_s < least or not self.can_miss_two_beats:
            what = (
                f"is {self.reap_after_s:g}, and reap_after_s ≥ 3 × heartbeat_s + child_margin_s = {least:g} must hold"
            )
            hint = "two beats may be missed before a supervisor ends a process: raise it, or lower one of the others"
            yield "reap_after_s", what, hint
        elif self.fence_after_s < LEAST_LEASE_S:
            must = f"reap_after_s ≥ child_margin_s + {LEAST_LEASE_S:g} = {self.child_margin_s + LEAST_LEASE_S:g}"
            what = f"is {self.reap_after_s:g}, and {must} must hold"
            yield "reap_after_s", what, "a process that is busy may be silent for so long: raise it, or lower the other"
        yield from self._progress_contradictions(beats_s)

    def _progress_contradictions(self, beats_s: float) -> Iterator[tuple[str, str, str]]:
        lease_s = self.progress_lease_s
        if lease_s is None or lease_s >= max(beats_s, LEAST_PROGRESS_S):
            return
        if lease_s < beats_s:
            what = f"is {lease_s:g}, and progress_lease_s ≥ 3 × heartbeat_s = {beats_s:g} must hold"
            yield "progress_lease_s", what, "progress is told with the heartbeats: raise it"
        else:
            what = f"is {lease_s:g}, and progress_lease_s ≥ {LEAST_PROGRESS_S:g} must hold"
            yield "progress_lease_s", what, "Spark plans before its first task: raise it, or give one Ripple its own"

    @property
    def silent_after_s(self) -> float:
        """Answer after how long a process that has not beaten is called silent: nobody counts on it any more."""
        return min(self.reap_after_s, MISSED_BEATS * self.heartbeat_s)

    @property
    def fence_after_s(self) -> float:
        """Answer the silence after which a process ends itself, or its supervisor ends it: before others reap it."""
        return self.reap_after_s - self.child_margin_s
