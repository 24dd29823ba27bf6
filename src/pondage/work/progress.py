"""How far Spark is with an attempt, and what it did."""

from __future__ import annotations

import msgspec


class JobProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far the Spark jobs of one attempt are. Jobs that Spark has forgotten are no longer counted."""

    jobs: int = 0
    stages: int = 0
    tasks_done: int = 0
    tasks_all: int = 0
    tasks_begun: int = 0
    """Those that run now, and those that are done."""


class StageView(msgspec.Struct, frozen=True, kw_only=True):
    """What Spark did in a stage that has ended; `work_us` is the time of all its tasks together."""

    id: int
    tasks: int
    failed: int = 0
    work_us: int = 0
    read_bytes: int = 0
    shuffled_bytes: int = 0
    spilled_bytes: int = 0
