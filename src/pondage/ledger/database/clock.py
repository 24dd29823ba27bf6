"""Whose time it is. PostgreSQL has its own clock; SQLite has none, so its host's clock is injected here."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Protocol


class Clock(Protocol):
    """The time of a ledger that has no clock of its own."""

    boot: str
    """Changes when the machine restarts: a heartbeat of another boot is a dead one."""

    def now(self) -> int:
        """Answer the time as microseconds UTC."""

    def beat(self) -> int:
        """Answer microseconds that no step of the wall clock can move: what heartbeats are written and judged with."""


class HostClock:
    """The clock of this host. Heartbeats use CLOCK_BOOTTIME, which neither NTP nor a suspended laptop can bend."""

    def __init__(self) -> None:
        boot_id = Path("/proc/sys/kernel/random/boot_id")
        self.boot = boot_id.read_text().strip() if boot_id.exists() else "unknown"
        # macOS has no BOOTTIME: its monotonic clock is good enough for `dev` on one machine.
        self._beat_clock: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

    def now(self) -> int:
        """Answer the time as microseconds UTC."""
        return time.time_ns() // 1_000

    def beat(self) -> int:
        """Answer microseconds since the machine started."""
        return time.clock_gettime_ns(self._beat_clock) // 1_000


class FakeClock:
    """A clock that a test moves."""

    def __init__(self, now: int = 0) -> None:
        self.time = now
        self.boot = "fake"

    def now(self) -> int:
        """Answer the time that the test set."""
        return self.time

    def beat(self) -> int:
        """Answer the same time for heartbeats."""
        return self.time
